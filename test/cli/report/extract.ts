import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';

/** The files of a report, by their paths without its folder. */
export async function extractReport(archive: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const reader = extract();
  reader.end(gunzipSync(archive));
  for await (const entry of reader) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry) chunks.push(chunk as Uint8Array);
    files.set(entry.header.name.replace(/^[^/]*\//, ''), Buffer.concat(chunks).toString('utf8'));
  }
  return files;
}
