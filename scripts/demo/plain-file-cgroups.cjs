// Loaded into the daemon on the embedded stage, whose cgroups are plain files. A write then replaces the whole file, as
// in the kernel.
const fs = require('node:fs');

const { writeSync } = fs;
/** @type {(fd: number, data: any, ...where: any[]) => number} */
fs.writeSync = (fd, data, ...where) => {
  const count = writeSync(fd, data, ...where);
  if (typeof data === 'string' && where.length === 0) fs.ftruncateSync(fd, count);
  return count;
};
