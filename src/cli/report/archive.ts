import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

export interface ArchivedFile {
  readonly name: string;
  readonly text: string;
}

/** A `.tar.gz` of the files in their order, below one folder. The same files and the same time give the same bytes. */
export async function packArchive(folder: string, files: readonly ArchivedFile[], at: Date): Promise<Buffer> {
  const archive = pack();
  const packed = buffer(archive.pipe(createGzip()));
  for (const { name, text } of files) archive.entry({ name: `${folder}/${name}`, mode: 0o600, mtime: at }, text);
  archive.finalize();
  return packed;
}
