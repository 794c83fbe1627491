// The end-to-end test files, the runtimes that each runs on, and the steps that they make.

/** @typedef {'trixie' | 'sid' | 'release' | 'crio'} Suite A runtime: see scripts/runtime/README.md. */
/**
 * @typedef {'core' | 'API server' | 'rest' | 'faults'} Group The files of a group run in one step on the containerds of
 * Debian.
 */
/**
 * @typedef {object} E2eFile
 * @property {string} name its path below test/e2e, without `.test.ts`
 * @property {Group} group
 * @property {Suite[]} suites the runtimes that it has tests for; none when it needs none, and then it runs once
 * @property {Suite[]} [byHand] runtimes that it has tests for too, and that no step runs it on, for the time that it
 * takes
 * @property {string} [because] the part of its claims that depends on the runtime; in a file for more than one. Its
 * other tests run on one
 *   (`defineOnce` of the rig)
 */
/**
 * @typedef {object} E2eStep
 * @property {Group | 'on a release of containerd' | 'on CRI-O'} name
 * @property {Suite[]} suites the value of CPUSETD_SUITES
 * @property {string[]} files their paths from the root of the project
 */

/** @type {Suite[]} */
const all = ['trixie', 'sid', 'release', 'crio'];
/** @type {Suite[]} */
const debian = ['trixie', 'sid'];
/** @type {Suite[]} */
const withCrio = [...debian, 'crio'];
/**
 * The one runtime of a file whose claims depend on none.
 * @type {Suite[]}
 */
const sidAlone = ['sid'];

/**
 * A row for each file of test/e2e.
 * @type {readonly E2eFile[]}
 */
export const e2eFiles = [
  // Quick, and they cover most: the daemon as plugin and as proxy, its state, and the repair of drift.
  {
    name: 'rig',
    group: 'core',
    suites: withCrio,
    because: 'A pod of the rig needs the cgroup, the log and the CRI answers of the runtime as they are.',
  },
  { name: 'rig-parts', group: 'core', suites: ['trixie'] },
  {
    name: 'nri',
    group: 'core',
    suites: all,
    because:
      'Each runtime has its own version of NRI, order of events, and way to create, update, start and forget containers.',
  },
  {
    name: 'proxy',
    group: 'core',
    suites: withCrio,
    because:
      'The proxy reads requests and answers of CRI, whose errors, events and moment of creation are those of the runtime.',
  },
  {
    name: 'required-plugin',
    group: 'core',
    suites: ['sid', 'release'],
    because: 'Required plugins exist from containerd 2.2 on, and before that the setting is ignored.',
  },
  { name: 'state', group: 'core', suites: sidAlone },
  {
    name: 'drift',
    group: 'core',
    suites: all,
    because:
      'An update of the runtime writes its own record, sets quotas again, and may move a container instead of cpusetd.',
  },

  // They need an API server, which takes minutes to build.
  { name: 'certificates', group: 'API server', suites: [] },
  { name: 'kube-api', group: 'API server', suites: [] },

  { name: 'admin', group: 'rest', suites: sidAlone },
  {
    name: 'audit',
    group: 'rest',
    suites: ['sid', 'crio'],
    because:
      'Tasks of the owner are told from foreign ones by its cgroup, which CRI-O names otherwise, with conmon beside it.',
  },
  {
    name: 'check',
    group: 'rest',
    suites: all,
    because: 'The runtime tells its name and version, by which NRI and the remedy without it are known.',
  },
  { name: 'cgroup-drivers', group: 'rest', suites: sidAlone },
  { name: 'completion', group: 'rest', suites: [] },
  { name: 'confined', group: 'rest', suites: sidAlone },
  {
    name: 'cpu-identity',
    group: 'rest',
    suites: all,
    because: 'The runtime merges mounts and variables of a plugin or of a proxied request with those of the pod.',
  },
  { name: 'crane', group: 'rest', suites: sidAlone },
  {
    name: 'cri-suite',
    group: 'rest',
    suites: ['release', 'crio'],
    because: "Containerd's own tests of CRI are compared with and without cpusetd on a runtime that passes them.",
  },
  {
    name: 'critest',
    group: 'rest',
    suites: ['release'],
    byHand: ['trixie', 'crio'],
    because: 'The tests of the Kubernetes project for CRI runtimes are compared with and without cpusetd on each.',
  },
  { name: 'crio-workload', group: 'rest', suites: ['crio'] },
  { name: 'debian-package', group: 'rest', suites: ['trixie'] },
  { name: 'demo', group: 'rest', suites: ['trixie'] },
  { name: 'deploy', group: 'rest', suites: [] },
  { name: 'events', group: 'rest', suites: sidAlone },
  {
    name: 'examples',
    group: 'rest',
    suites: all,
    because:
      'The library cpusetd/nri speaks each version of NRI, and the events of a container come in an order of the runtime.',
  },
  { name: 'failure-policy', group: 'rest', suites: [] },
  { name: 'helm', group: 'rest', suites: [] },
  { name: 'hotplug', group: 'rest', suites: sidAlone },
  { name: 'krew', group: 'rest', suites: [] },
  {
    name: 'kube',
    group: 'rest',
    suites: all,
    because:
      'A switch of policy goes into the record of the runtime, and a sandbox that is made again comes as events of the runtime.',
  },
  { name: 'publish', group: 'rest', suites: [] },
  { name: 'leave-alone', group: 'rest', suites: sidAlone },
  { name: 'node-versions', group: 'rest', suites: sidAlone },
  { name: 'own-cpusets', group: 'rest', suites: sidAlone },
  {
    name: 'nri-plugins-together',
    group: 'rest',
    suites: all,
    because: 'The runtime merges the answers of plugins, finds conflicts and words the refusal.',
  },
  { name: 'page', group: 'rest', suites: sidAlone },
  {
    name: 'proxy-faults',
    group: 'rest',
    suites: debian,
    because:
      'A runtime that is killed, cut off or asked for too much ends calls in its own way; only 1.7 serves v1alpha2.',
  },
  {
    name: 'proxy-transparency',
    group: 'rest',
    suites: withCrio,
    because: 'Every method is called, and each runtime answers with its own bytes, errors and unknown methods.',
  },
  { name: 'qos-objects', group: 'rest', suites: [] },
  { name: 'refusals', group: 'rest', suites: sidAlone },
  { name: 'release-image', group: 'rest', suites: [] },
  { name: 'reload', group: 'rest', suites: sidAlone },
  { name: 'report', group: 'rest', suites: sidAlone },

  { name: 'faults/crash-points', group: 'faults', suites: [] },
  {
    name: 'faults/faults',
    group: 'faults',
    suites: all,
    because:
      'A runtime that is killed, times out or fails an update recovers, and tells its plugins of it, in its own way.',
  },
];

/**
 * The path of a file from the root of the project.
 * @param {string} name
 * @returns {string}
 */
const toPath = (name) => `test/e2e/${name}.test.ts`;

/**
 * The steps of end-to-end tests: one for each group, on the containerds of Debian and for what needs no runtime, and
 * one for each other runtime. Each file is in one step for each of its runtimes, and in one when it needs none.
 * @returns {E2eStep[]}
 */
export function listE2eSteps() {
  /** @type {(suite: Suite) => string[]} */
  const listOn = (suite) => e2eFiles.filter(({ suites }) => suites.includes(suite)).map(({ name }) => toPath(name));
  /** @type {Group[]} */
  const groups = ['core', 'API server', 'rest', 'faults'];
  return [
    ...groups.map((group) => ({
      name: group,
      suites: debian,
      files: e2eFiles
        .filter((file) => file.group === group)
        .filter(({ suites }) => suites.length === 0 || suites.some((suite) => debian.includes(suite)))
        .map(({ name }) => toPath(name)),
    })),
    { name: 'on a release of containerd', suites: ['release'], files: listOn('release') },
    { name: 'on CRI-O', suites: ['crio'], files: listOn('crio') },
  ];
}
