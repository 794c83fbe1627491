// Files as an initrd.

/**
 * cpio in the "newc" format, uncompressed: for each file a header of hexadecimal fields, name and content, each padded
 * to 4; then the trailer. Several may follow each other in one initrd.
 * @param {Record<string, Buffer>} files by path; each may be run. The kernel makes no folders for them
 * @returns {Buffer}
 */
export function packCpio(files) {
  return Buffer.concat(
    [...Object.entries(files), /** @type {const} */ (['TRAILER!!!', Buffer.alloc(0)])].flatMap(packFile),
  );
}

/** @param {readonly [string, Buffer]} file */
function packFile([name, content]) {
  const fields = [1, 0o100755, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}${name}\0`;
  return [pad(Buffer.from(header)), pad(content)];
}

/** @param {Buffer} buffer */
const pad = (buffer) => Buffer.concat([buffer, Buffer.alloc((4 - (buffer.length % 4)) % 4)]);
