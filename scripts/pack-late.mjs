// Packs libraries that the daemon needs only after its registration, or never: they are large and complete in
// themselves. They lie in the bundle compressed. Node reads through all code of a file before the first line runs, and
// for these that takes longer than registering with the runtime does.
import { brotliCompressSync } from 'node:zlib';
import { bundleWithInputs } from './shared/bundle.mjs';

const LATE = ['@grpc/grpc-js', 'pino-pretty', 'prom-client', 'tar-stream', 'ws', 'xxhash-wasm', 'yaml', 'zod/mini'];

/** Modules of our own, by the end of the path that they are imported by. */
const LATE_MODULES = ['client-library'];

/** Packages of modules that only define: the bundle takes of these only the definitions that are used. */
const PURE = ['@kubernetes/client-node'];

/**
 * A way to authenticate that src/kube/api keeps from the library: it gets a credential itself, or refuses.
 * @param {string} name
 */
const withheld = (name) => `export class ${name} { isAuthProvider() { return false; } }`;

/**
 * Modules by the end of their path, and the code that stands for each: the whole of them would be most of each bundle,
 * and 7 MiB resident.
 * @type {Record<string, string>}
 */
const INSTEAD = {
  // Node has URL, by the same standard, without a table of all characters.
  'whatwg-url/lib/public-api.js': 'exports.URL = URL; exports.URLSearchParams = URLSearchParams;',
  // Messages of a schema in fifty languages.
  'zod/v4/locales/index.js': "export { default as en } from './en.js';",
  // The client library is given its configuration as JSON.
  '@kubernetes/client-node/node_modules/js-yaml/dist/js-yaml.mjs': 'export default { load: JSON.parse };',
  '@kubernetes/client-node/dist/azure_auth.js': withheld('AzureAuth'),
  '@kubernetes/client-node/dist/exec_auth.js': withheld('ExecAuth'),
  '@kubernetes/client-node/dist/file_auth.js': withheld('FileAuth'),
  '@kubernetes/client-node/dist/gcp_auth.js': withheld('GoogleCloudPlatformAuth'),
  // For services of gRPC's own about itself (channelz, ORCA), whose definitions it would read from files that are not
  // there.
  '@grpc/proto-loader/build/src/index.js': `
    exports.loadSync = () => { throw new Error('definitions are not read from files in this bundle'); };`,
};

/**
 * An esbuild plugin: each of these becomes a bundle of its own, which is unpacked and run by the first `require` of it.
 * @param {import('esbuild').BuildOptions} options of the bundle that has the plugin
 * @param {(paths: string[]) => void} [onInputs] gets the files that such a bundle is made of
 * @returns {import('esbuild').Plugin}
 */
export function packLate(options, onInputs = () => {}) {
  return {
    name: 'pack-late',
    setup(builder) {
      builder.onResolve({ filter: /./ }, async ({ path, pluginData, ...args }) => {
        const name = LATE.find((late) => path === late) ?? LATE_MODULES.find((late) => path.endsWith(`/${late}`));
        if (name === undefined || pluginData === 'inside') return undefined;
        const found = await builder.resolve(path, { ...args, pluginData: 'inside' });
        // The bundle has the name, and not where on this machine the module lies: it is the same wherever it is built.
        return found.errors.length > 0 ? found : { path: name, namespace: 'late', pluginData: found.path };
      });
      builder.onLoad({ filter: /./, namespace: 'late' }, async ({ path: name, pluginData: path }) => {
        const inside = { ...options, entryPoints: [path], minify: true, plugins: [takeOnlyUsed] };
        const { contents, inputs } = await bundleWithInputs(inside);
        onInputs(inputs.filter((input) => findInstead(input) === undefined));
        const packed = brotliCompressSync(contents).toString('base64');
        return {
          contents: unpack(packed, `cpusetd/${name}.js`),
          loader: 'js',
          resolveDir: options.absWorkingDir ?? '',
        };
      });
    },
  };
}

/**
 * The code that stands for a module.
 * @param {string} path
 */
const findInstead = (path) => Object.entries(INSTEAD).find(([end]) => `/${path}`.endsWith(`/node_modules/${end}`))?.[1];

/** Takes of pure modules only the definitions that are used. @type {import('esbuild').Plugin} */
const takeOnlyUsed = {
  name: 'take-only-used',
  setup(builder) {
    builder.onLoad({ filter: /./ }, ({ path }) => {
      const contents = findInstead(path);
      return contents === undefined ? undefined : { contents, loader: 'js' };
    });
    builder.onResolve({ filter: /./ }, async ({ path, pluginData, ...args }) => {
      if (pluginData === 'inside') return undefined;
      const found = await builder.resolve(path, { ...args, pluginData: 'inside' });
      if (found.errors.length > 0 || !PURE.some((name) => found.path.includes(`/node_modules/${name}/`)))
        return undefined;
      return { path: found.path, sideEffects: false };
    });
  },
};

/**
 * The module that unpacks a bundle and runs it.
 * @param {string} packed
 * @param {string} fileName its name in stack traces
 */
function unpack(packed, fileName) {
  return `
const text = require('node:zlib').brotliDecompressSync(Buffer.from(${JSON.stringify(packed)}, 'base64')).toString();
const parameters = ['module', 'exports', 'require', '__filename', '__dirname'];
const run = require('node:vm').compileFunction(text, parameters, { filename: ${JSON.stringify(fileName)} });
run(module, exports, require, __filename, __dirname);`;
}
