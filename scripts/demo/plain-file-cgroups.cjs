// Loaded into the daemon on the embedded stage, whose cgroups are plain files: there, as in the kernel's files, a text that is
// written becomes the whole value, however long the one before it was.
const fs = require('node:fs');

const { writeSync } = fs;
/** @type {(fd: number, data: any, ...where: any[]) => number} */
fs.writeSync = (fd, data, ...where) => {
  const count = writeSync(fd, data, ...where);
  if (typeof data === 'string' && where.length === 0) fs.ftruncateSync(fd, count);
  return count;
};
