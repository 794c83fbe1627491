// Turns a package that comes as ES modules only into CommonJS for jest, as the build does it: with esbuild.
const { createHash } = require('node:crypto');
const { buildSync, version } = require('esbuild');

module.exports = {
  /** @type {(source: string, path: string) => string} */
  getCacheKey: (source, path) => createHash('sha256').update(`${version}\0${path}\0${source}`).digest('hex'),
  /** @type {(source: string, path: string) => { code: string }} */
  process: (_source, path) => {
    const { outputFiles } = buildSync({
      entryPoints: [path],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20',
      minify: true,
      write: false,
      logLevel: 'error',
    });
    return { code: outputFiles.map(({ text }) => text).join('') };
  },
};
