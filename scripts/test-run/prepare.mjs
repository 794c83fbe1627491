// Builds the prerequisites of end-to-end tests, once, into the cache:
//
//   node scripts/test-run/prepare.mjs trixie|sid|release|crio|cluster|chromium|nodes|scheduler-plugins...
//
// Outside CI it is no failure when something can't be had: the tests that need it say that they are not run. In CI,
// only programs of `scripts/go-programs` may be missing, on a machine without Go or without a way to Go modules.
import { ensureChromium } from '../browser/chromium.mjs';
import { ensureCluster } from '../cluster/ensure.mjs';
import { kubeletModules } from '../cluster/kubelet-programs.mjs';
import { beginFetching, CannotBuild, ensureGoPrograms } from '../go-programs/build.mjs';
import { moduleNames } from '../go-programs/recipes.mjs';
import { ensureNode, testedNodes } from '../release/node-programs.mjs';
import { describeVersions, ensureSuite } from '../runtime/suite.mjs';
import { messageOf } from '../shared/errors.mjs';

/** @param {string} line */
const log = (line) => console.log(line);
const names = process.argv.slice(2);
/** The Go modules of names that are not those of a module. @type {Partial<Record<string, string[]>>} */
const modules = { cluster: kubeletModules, release: ['containerd'], crio: ['cri-o'] };
const goNames = names.flatMap((name) => modules[name] ?? [name]).filter((name) => moduleNames.includes(name));
beginFetching(goNames.slice(1));
for (const name of names) {
  try {
    if (name === 'cluster') log(`cluster: ${list(ensureClusterOfTests())}`);
    else if (name === 'chromium') log(`chromium: ${ensureChromium({ log })}`);
    else if (name === 'nodes') log(`nodes: ${testedNodes.map((version) => ensureNode(version, { log })).join(', ')}`);
    else if (moduleNames.includes(name)) log(`${name}: ${ensureGoPrograms(name, { log }).dir}`);
    else log(`${name}: ${describeVersions(ensureSuite(name, { log }).versions)}`);
  } catch (error) {
    log(`${name} can't be had: ${messageOf(error)}`);
    if (process.env.CI === 'true' && !(error instanceof CannotBuild)) process.exitCode = 1;
  }
}

/** The control plane, and the kubelets of all kinds of nodes. */
function ensureClusterOfTests() {
  const cluster = ensureCluster({ log });
  const kubelets = kubeletModules.map((module) => ensureGoPrograms(module, { log }).versions.kubelet);
  return { ...cluster, kubelet: kubelets.join(' and ') };
}

/** @param {Record<string, string>} versions */
function list(versions) {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}
