// The modules of this folder: what their go.mod pins, the flags of their builds, and the name of the folder in the
// cache.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @import { Copy } from './changed-copy.mjs' */

/**
 * @typedef {object} Settings of a build
 * @property {string[]} [tags]
 * @property {(version: string) => string[]} [linkerFlags] further flags of the linker
 * @property {Record<string, string>} [names] the names of programs that are not named after their package
 * @property {Record<string, string>} [cPrograms] programs of the module in C: their folder of sources
 * @property {string} [module] the module whose version counts, where all programs are of ours
 * @property {string[]} [ownPrograms] programs of ours that use the module: their folders beside go.mod
 * @property {Record<string, Copy>} [copies] programs of ours with a changed package, by their names
 * @property {Record<string, string>} [testPackages] programs that are the tests of a package (`go test -c`): that
 * package
 * @property {string} takes the time of a first build on two CPUs
 */
/**
 * @typedef {object} Recipe
 * @property {string} name
 * @property {string} dir the folder of go.mod
 * @property {string} module the Go module that has the programs
 * @property {string} version its version, without the v
 * @property {Record<string, string>} packages the Go package of each program
 * @property {Record<string, string>} cPrograms
 * @property {Record<string, Copy>} copies
 * @property {Record<string, string>} testPackages
 * @property {string[]} flags of `go build` and `go test`
 * @property {string} takes
 * @property {string} key a hash of everything that the programs are made from
 */

/** The settings of each module, by the name of its folder. @type {Record<string, Settings>} */
export const settings = {
  containerd: { tags: ['no_btrfs', 'no_devmapper'], takes: 'two minutes' },
  'containerd-integration': {
    testPackages: { 'cri-integration.test': 'github.com/containerd/containerd/v2/integration' },
    takes: 'two minutes',
  },
  kubernetes: { linkerFlags: setKubernetesVersion, ownPrograms: ['list-pod-resources'], takes: 'six minutes' },
  'kubernetes-1.36': { linkerFlags: setKubernetesVersion, takes: 'four minutes' },
  'cri-o': {
    tags: ['containers_image_openpgp', 'exclude_graphdriver_btrfs'],
    cPrograms: { pinns: 'pinns/src' },
    takes: 'three minutes',
  },
  crane: { takes: 'half a minute' },
  'cri-tools': { testPackages: { critest: 'sigs.k8s.io/cri-tools/cmd/critest' }, takes: 'half a minute' },
  grpcurl: { takes: 'half a minute' },
  helm: { takes: 'a minute' },
  krew: { takes: 'a minute' },
  'kubelet-oracle': {
    module: 'k8s.io/kubernetes',
    ownPrograms: ['kubelet-oracle'],
    copies: {
      'kubelet-oracle-repaired': {
        of: 'kubelet-oracle',
        package: 'k8s.io/kubernetes/pkg/kubelet/cm/cpumanager',
        changes: 'repairs.json',
      },
    },
    takes: 'two minutes',
  },
  nri: {
    tags: ['nri_no_wasm'],
    module: 'github.com/containerd/nri',
    ownPrograms: ['nri-runtime'],
    takes: 'a quarter of a minute',
  },
  'scheduler-plugins': { names: { scheduler: 'kube-scheduler-plugins' }, takes: 'four minutes' },
};

/** The names of all modules: those of their folders. */
export const moduleNames = Object.keys(settings);

/**
 * Reads the recipe of a module from its folder.
 * @param {string} name
 * @returns {Recipe}
 * @throws {Error} when there is no such module
 */
export function readRecipe(name) {
  const ownSettings = settings[name];
  if (ownSettings === undefined) throw new Error(`there is no Go module ${name}, but ${moduleNames.join(', ')}`);
  const dir = fileURLToPath(new URL(name, import.meta.url));
  const [goMod, goSum] = ['go.mod', 'go.sum'].map((file) => readFileSync(join(dir, file), 'utf8'));
  const files = (ownSettings.ownPrograms ?? []).flatMap((program) =>
    readdirSync(join(dir, program))
      .sort()
      .map((file) => join(program, file)),
  );
  const changes = Object.values(ownSettings.copies ?? {}).map((copy) => copy.changes);
  const sources = [...files, ...changes].map((file) => readFileSync(join(dir, file), 'utf8'));
  return { dir, ...makeRecipe(name, ownSettings, goMod ?? '', goSum ?? '', sources) };
}

/**
 * The recipe of a module.
 * @param {string} name
 * @param {Settings} settings
 * @param {string} goMod the text of go.mod
 * @param {string} goSum the text of go.sum
 * @param {string[]} sources of our own programs
 * @returns {Omit<Recipe, 'dir'>}
 */
export function makeRecipe(name, settings, goMod, goSum, sources = []) {
  const {
    tags = [],
    linkerFlags,
    names = {},
    cPrograms = {},
    ownPrograms = [],
    copies = {},
    testPackages = {},
    takes,
  } = settings;
  const { module: ownModule = '' } = settings;
  const tools = listTools(goMod);
  const packages = Object.fromEntries([
    ...tools.map((tool) => [names[basename(tool)] ?? basename(tool), tool]),
    ...ownPrograms.map((program) => [program, `./${program}`]),
  ]);
  const { module, version } = findModuleOf([...tools, ...Object.values(testPackages)][0] ?? `${ownModule}/`, goMod);
  const linker = ['-s', '-w', ...(linkerFlags?.(version) ?? [])];
  const flags = ['-trimpath', '-tags', tags.join(','), '-ldflags', linker.join(' ')];
  const key = hash([
    goMod,
    goSum,
    JSON.stringify({ packages, cPrograms, ...(Object.keys(copies).length > 0 && { copies }), testPackages, flags }),
    ...sources,
  ]);
  return { name, module, version, packages, cPrograms, copies, testPackages, flags, takes, key };
}

/**
 * The linker's flags that tell Kubernetes its own version, which it parses.
 * @param {string} version
 */
function setKubernetesVersion(version) {
  const [major, minor] = version.split('.');
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  return Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
}

/**
 * The packages in the tool directives.
 * @param {string} goMod
 */
function listTools(goMod) {
  const [block = ''] = /^tool \([^)]*\)/m.exec(goMod) ?? [];
  return [...block.matchAll(/^\t(\S+)/gm), ...goMod.matchAll(/^tool ([^\s(]+)/gm)].flatMap(([, tool]) => tool ?? []);
}

/**
 * The required module with the longest path that a package begins with, as Go resolves it.
 * @param {string} tool
 * @param {string} goMod
 */
function findModuleOf(tool, goMod) {
  const required = [...goMod.matchAll(/^(?:require |\t)(\S+) v(\d\S*)/gm)];
  const [longest] = required
    .filter(([, path]) => tool.startsWith(`${path}/`))
    .sort(([, a = ''], [, b = '']) => b.length - a.length);
  const [, module, version] = longest ?? [];
  if (module === undefined || version === undefined) throw new Error(`go.mod requires no module with ${tool}`);
  return { module, version };
}

/** @param {string[]} parts */
const hash = (parts) => createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 12);
