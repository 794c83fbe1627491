import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

export interface ArchivedFile {
  readonly name: string;
  readonly text: string;
}

/**
 * A `.tar.gz` of the files in their order, below one folder. Each file is asked for when the one before it is packed.
 * The same files and the same time give the same bytes.
 */
export async function packArchive(folder: string, files: Iterable<ArchivedFile>, at: Date): Promise<Buffer> {
  const archive = pack();
  const packed = buffer(archive.pipe(createGzip()));
  for (const { name, text } of files) {
    const header = { name: `${folder}/${name}`, mode: 0o600, mtime: at };
    await new Promise<void>((resolve, reject) =>
      archive.entry(header, text, (error) => (error ? reject(error) : resolve())),
    );
  }
  archive.finalize();
  return packed;
}
