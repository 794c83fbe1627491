// Loaded into the daemon by the soak test: at SIGUSR2 it collects garbage and writes the memory usage into a file, so
// that garbage does not count as growth.
const { renameSync, writeFileSync } = require('node:fs');
const { getHeapSpaceStatistics, setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

const file = process.env.SOAK_MEMORY_FILE ?? '';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  collect(); // also frees memory that finalizers released
  const code = getHeapSpaceStatistics()
    .filter(({ space_name: name }) => /code|trusted/.test(name))
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
  writeFileSync(`${file}.new`, JSON.stringify({ ...process.memoryUsage(), code }));
  renameSync(`${file}.new`, file);
});
