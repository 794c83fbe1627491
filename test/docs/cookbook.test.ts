import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadConfig, type Config } from '../../src/app/config';
import { toSettings } from '../../src/app/config/settings';
import { collectFacts } from '../../src/cli/check/collect-facts';
import { formatFindings } from '../../src/cli/check/format-findings';
import type { Finding } from '../../src/cli/check/finding';
import { judgeFacts } from '../../src/cli/check/judge-facts';
import { parseCpuList } from '../../src/core/cpuset';
import { formatIdentity } from '../../src/core/identity/document';
import { identityOf } from '../../src/core/identity/cpu-identity';
import { variablesOf } from '../../src/core/identity/where';
import { planIrqAffinity } from '../../src/core/irq-affinity/plan-irq-affinity';
import type { Settings } from '../../src/core/model/settings';
import type { RuntimeAnswer } from '../../src/core/model/events';
import { readKubeletConfig } from '../../src/kube';
import { inspectState } from '../../src/state';
import { formatKubeletState } from '../../src/state/kubelet-checkpoint';
import { runInProcess } from '../support/run-cli';
import { loadMachine, withSysfs } from '../support/sysfs-tree';
import { NodeDriver } from '../core/transition/node-driver';
import { MACHINES } from './machines';
import { listExamples, readPage, ROOT } from './markdown';
import { AT, backendOf, JournaledNode, showSession } from './node';
import { readPod, runPod } from './pods';

/** The promise of a recipe. Its options are the block of its name, unless another recipe's are named. */
interface Recipe {
  readonly machine?: keyof typeof MACHINES;
  /** The pods that come one after another, by the names of their blocks. */
  readonly pods: readonly string[];
  /** The share of each container: kind, CPUs, and memory nodes where it is confined to some. */
  readonly gets: Readonly<Record<string, string>>;
  /** The command lines of the example, which may end with `| head -N` or `| grep WORD`. */
  readonly commands: readonly string[];
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  database: {
    pods: ['database'],
    gets: { 'postgres/postgres': 'static 1-2,9-10, memory 0' },
    commands: ['cpusetd explain postgres | head -8'],
  },
  poller: {
    pods: ['poller'],
    gets: { 'dataplane/poller': 'static 1-2,9-10, memory 0' },
    commands: ['cpusetd topology'],
  },
  llm: {
    machine: 'two-caches-each',
    pods: ['llm'],
    gets: { 'llm/server': 'static 8-15,40-47, memory 0' },
    commands: ['cpusetd topology', 'cpusetd explain --cpus 32'],
  },
  immovable: {
    pods: ['immovable', 'database'],
    gets: { 'io-engine/io-engine': 'immovable 1,9', 'postgres/postgres': 'static 2-3,10-11' },
    commands: ['cpusetd topology'],
  },
  sidecars: {
    pods: ['sidecars'],
    gets: { 'app/logs': 'shared 0,2-8,10-15', 'app/main': 'static 1,9', 'app/proxy': 'shared 0,2-8,10-15' },
    commands: ['cpusetd status app'],
  },
  crane: {
    pods: ['crane'],
    gets: { 'search/index': 'exclusive 4-5,12', 'search/query': 'exclusive 4-5,12' },
    commands: ['cpusetd explain search index | head -8'],
  },
  'nri-plugins': {
    pods: ['nri-plugins'],
    gets: { 'worker/worker': 'static 1,9' },
    commands: ['cpusetd status worker'],
  },
};

let page = readPage('cookbook.md');
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'docs-'));
  if (!process.env['UPDATE_DOCS']) return;
  const shown = new Map<string, string>();
  for (const name of listExamples(page).keys()) shown.set(name, await showExample(name));
  page = readPage('cookbook.md', (name) => shown.get(name)!);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const makeStateDir = (): string => mkdtempSync(join(folder, 'state-'));

/** The YAML blocks of a kind, such as `options` or `pod`, by their names. */
function listBlocks(kind: string): Map<string, string> {
  const blocks = page.matchAll(new RegExp(`<!-- ${kind}: ([\\w-]+) -->\\n\`\`\`yaml\\n([^]*?)\`\`\``, 'g'));
  return new Map([...blocks].map(([, name, text]) => [name!, text!]));
}

const OPTION_BLOCKS = listBlocks('options');
const POD_BLOCKS = listBlocks('pod');

/** Loads the options of a recipe as `cpusetd run` does, and checks them against its machine. */
async function loadOptions(name: string): Promise<{ readonly config: Config; readonly settings: Settings }> {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, OPTION_BLOCKS.get(name)!);
  const loaded = await loadConfig({ flags: { config: [path] }, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return { config: loaded.config, settings: toSettings(loaded.config, topologyOf(name), loaded.placeOf) };
}

function topologyOf(name: string) {
  return MACHINES[RECIPES[name]?.machine ?? 'two-sockets'].topology;
}

/** The machine of a recipe with its options, or with others that are made of them. */
async function setUp(name: string, change = (given: Settings): Settings => given) {
  const settings = change((await loadOptions(name)).settings);
  const reserved = settings.reserved.toString();
  return { topology: topologyOf(name), rules: { ...settings, reserved }, options: { 'reserved-cpus': reserved } };
}

/** A node of a recipe with nothing on it. */
async function startNode(name: string, change?: (given: Settings) => Settings): Promise<NodeDriver> {
  const { topology, rules } = await setUp(name, change);
  return new NodeDriver(topology, rules);
}

/** Runs the pods of a recipe on a node. */
function runPods<N extends NodeDriver>(node: N, name: string, knows?: 'spec') {
  const answers = RECIPES[name]!.pods.flatMap((pod) => runPod(node, readPod(POD_BLOCKS.get(pod)!), knows));
  return { node, answers };
}

/** The node of a recipe after its pods have come. */
async function playRecipe(name: string, knows?: 'spec') {
  return runPods(await startNode(name), name, knows);
}

/** The share of each container: kind, CPUs and memory nodes. */
function listHeld({ model }: NodeDriver): Record<string, string> {
  const shown = [...model.containers.values()].map((container) => {
    const { kind, cpus, memoryNodes } = identityOf(model, container);
    const memory = memoryNodes ? `, memory ${memoryNodes.toString()}` : '';
    return [container.id, `${kind} ${cpus?.toString() ?? ''}${memory}`] as const;
  });
  return Object.fromEntries(shown);
}

async function showExample(name: string): Promise<string> {
  switch (name) {
    case 'llm-identity':
      return showIdentity();
    case 'kubelet':
      return (await importFromKubelet()).shown;
    case 'kubelet-after':
      return (await importFromKubelet()).shownAfter;
    case 'nri-plugins-check':
      return showCheck();
    default:
      return showCommands(RECIPES[name]!.commands, async (stateDir) => {
        const { node } = runPods(new JournaledNode(stateDir, await setUp(name)), name);
        return backendOf(node);
      });
  }
}

/** Shows each command line with its output, which a filter at its end makes shorter. */
async function showCommands(commands: readonly string[], openNode: Parameters<typeof showSession>[1]): Promise<string> {
  const shown: string[] = [];
  for (const command of commands) {
    const [line, filter] = command.split(' | ');
    const [, ...output] = (await showSession({ commands: [line!] }, openNode)).split('\n');
    shown.push([`$ ${command}`, ...applyFilter(output, filter)].join('\n'));
  }
  return shown.join('\n\n');
}

function applyFilter(lines: readonly string[], filter: string | undefined): readonly string[] {
  const [, count] = /^head -(\d+)$/.exec(filter ?? '') ?? [];
  const [, word] = /^grep (\S+)$/.exec(filter ?? '') ?? [];
  if (count !== undefined) return lines.slice(0, Number(count));
  return word === undefined ? lines : lines.filter((line) => line.includes(word));
}

/** The file in the container of the LLM server. */
async function showIdentity(): Promise<string> {
  const { node } = await playRecipe('llm');
  const container = node.model.containers.get('llm/server')!;
  const text = formatIdentity({ ...identityOf(node.model, container), since: AT });
  return `$ kubectl exec llm -- cat /etc/cpusetd/cpus.json\n${text}`.trimEnd();
}

const UID = 'ee736726-dec0-538f-226a-9a35de2b2dd2';
const KUBELET_CPUS = '4-5,12-13';

/** Imports the state of a kubelet that pinned the database, and starts cpusetd beside the running container. */
async function importFromKubelet() {
  const stateDir = makeStateDir();
  const file = join(stateDir, 'cpu_manager_state');
  await loadOptions('kubelet'); // writes the file of options
  const online = topologyOf('kubelet').online;
  const entries = new Map([[UID, new Map([['postgres', KUBELET_CPUS]])]]);
  const defaultCpuSet = online.minus(parseCpuList(KUBELET_CPUS)).toString();
  const state = { policyName: 'static', defaultCpuSet, entries, podEntries: new Map<string, string>() } as const;
  writeFileSync(file, formatKubeletState(state, 'v2'));
  const line = 'cpusetd state import-kubelet --dry-run --config /etc/cpusetd.yaml /var/lib/kubelet/cpu_manager_state';
  const importBy = (words: readonly string[]) =>
    withSysfs(loadMachine('2x4x2-2numa-bare-metal-order'), (sysfsRoot) =>
      runInProcess([
        ...words.map((word) =>
          word
            .replace('/etc/cpusetd.yaml', join(folder, 'kubelet.yaml'))
            .replace('/var/lib/kubelet/cpu_manager_state', file),
        ),
        ...['--sysfs-root', sysfsRoot, '--state-dir', stateDir],
      ]),
    );
  const words = line.split(' ').slice(1);
  const dry = await importBy(words);
  const imported = await importBy(words.filter((word) => word !== '--dry-run'));

  const found = inspectState({ dir: stateDir });
  if (!('state' in found)) throw new Error('nothing was imported');
  const { assignments } = found.state;
  const synchronize = <N extends NodeDriver>(node: N): N => {
    for (const assignment of assignments) node.model.apply({ kind: 'put-assignment', assignment });
    const { info: pod, containers } = readPod(POD_BLOCKS.get('database')!, UID);
    // The kubelet has pinned it by an update, and lifted its quota.
    const running = containers.map((container) => ({
      ...container,
      phase: 'running' as const,
      resources: { ...container.resources, quotaUs: -1, cpus: KUBELET_CPUS },
    }));
    const live = new Map(running.map(({ id }) => [id, parseCpuList(KUBELET_CPUS)]));
    node.send({ kind: 'synchronize', pods: [pod], containers: running }, live);
    return node;
  };
  const setup = await setUp('kubelet');
  return {
    imported,
    node: synchronize(await startNode('kubelet')),
    shown: `$ ${line}\n${dry.stdout}${dry.stderr}`.trimEnd(),
    shownAfter: await showCommands(['cpusetd status postgres'], (dir) =>
      backendOf(synchronize(new JournaledNode(dir, setup))),
    ),
  };
}

/** The findings of `cpusetd check` on a host on which a program runs. */
async function checkBeside(program: string): Promise<readonly Finding[]> {
  const { config } = await loadOptions('nri-plugins');
  const procRoot = mkdtempSync(join(folder, 'proc-'));
  const processes = { 1: 'systemd', 2: 'kthreadd', 4711: program };
  for (const [pid, name] of Object.entries(processes)) {
    mkdirSync(join(procRoot, pid));
    writeFileSync(join(procRoot, pid, 'comm'), `${name.slice(0, 15)}\n`); // the kernel keeps 15 bytes
  }
  // Which rows there are, and with them the widths of the columns, does not depend on the machine of the test.
  const absent = join(procRoot, 'absent.sock');
  const sockets = { nriSocket: absent, criEndpoint: absent, adminSocket: absent };
  const elsewhere = { ...config, ...sockets, cgroupRoot: procRoot, kubeletRootDir: procRoot, stateDir: procRoot };
  return judgeFacts(await collectFacts(elsewhere, { procRoot, etcRoot: procRoot }));
}

async function findManagers(program: string): Promise<readonly Finding[]> {
  return (await checkBeside(program)).filter(({ check }) => check === 'managers');
}

async function showCheck(): Promise<string> {
  const found = formatFindings(await checkBeside('nri-resource-policy-balloons'));
  return [
    '$ cpusetd check --config /etc/cpusetd.yaml | grep managers',
    ...applyFilter(found.split('\n'), 'grep managers'),
  ].join('\n');
}

describe.each(Object.entries(RECIPES))('recipe %s', (name, { gets }) => {
  test('the containers get these CPUs', async () => {
    const { node, answers } = await playRecipe(name);
    expect(answers.filter(({ kind }) => kind === 'refuse')).toEqual([]);
    expect(listHeld(node)).toEqual(gets);
  });

  test('they get the same where the API server has reported the pods', async () => {
    const { node } = await playRecipe(name, 'spec');
    expect(listHeld(node)).toEqual(gets);
  });
});

test.each([...listExamples(page).keys()])('the page shows what the code gives: %s', async (name) => {
  expect(listExamples(page).get(name)).toBe(await showExample(name));
});

test('each recipe has options, and those that run pods have a pod and an example', () => {
  const names = [...Object.keys(RECIPES), 'kubelet'];
  expect([...OPTION_BLOCKS.keys()].sort()).toEqual(names.sort());
  expect([...POD_BLOCKS.keys()].sort()).toEqual(Object.keys(RECIPES).sort());
  expect([...listExamples(page).keys()]).toEqual(expect.arrayContaining(names));
});

describe('options', () => {
  test.each([...OPTION_BLOCKS.keys()])('those of %s are loaded and fit the machine', async (name) => {
    await expect(loadOptions(name)).resolves.toHaveProperty('settings');
  });

  test('the table names for each recipe options that it has', () => {
    const rows = [...page.matchAll(/^\| \[\d\. .*\|(.*)\|$/gm)];
    const named = rows.map(([, options]) => [...options!.matchAll(/`([^`]+)`/g)].map(([, option]) => option!));
    const blocks = [...OPTION_BLOCKS.values()];
    expect(named).toHaveLength(blocks.length);
    const isSet = (option: string, i: number): boolean => new RegExp(`^ *${option}:`, 'm').test(blocks[i]!);
    expect(named.flatMap((options, i) => options.filter((option) => !isSet(option, i)))).toEqual([]);
    expect(named.flat()).toContain('full-pcpus-only');
  });

  test('those of the kubelet are carried over by the same names', async () => {
    const { config, settings } = await loadOptions('kubelet');
    const kubelet = parse(listBlocks('kubelet').get('kubelet')!) as Record<string, unknown>;
    expect(readKubeletConfig(kubelet)).toMatchObject({
      cpuManagerPolicy: 'static',
      reservedSystemCpus: settings.reserved.toString(),
    });
    expect(kubelet['cpuManagerPolicyOptions']).toEqual(Object.fromEntries(config.cpuManagerPolicyOptions));
    expect(kubelet['topologyManagerPolicy']).toBe(config.topologyManagerPolicy);
  });
});

describe('pods', () => {
  const pods = [...POD_BLOCKS].map(([name, yaml]) => [name, readPod(yaml)] as const);

  test.each(pods)('%s is a v1 Pod with the image of the examples', (_name, { document }) => {
    expect(document).toMatchObject({ apiVersion: 'v1', kind: 'Pod' });
    const { containers, initContainers } = document['spec'] as Record<string, { image: string }[]>;
    const images = [...containers!, ...initContainers!].map(({ image }) => image);
    expect(new Set(images)).toEqual(new Set(['busybox:1.37']));
  });
});

/** The text of the page without its line ends, to look for a sentence. */
const prose = page.replace(/\s+/g, ' ');

function expectSaid(sentence: string): void {
  if (!prose.includes(sentence)) throw new Error(`the page does not say: ${sentence}`);
}

/** Runs the pod of a recipe, changed, on the node of the recipe. */
async function tryPod(
  name: string,
  change: (yaml: string) => string,
  knows?: 'spec',
): Promise<{ readonly node: NodeDriver; readonly answers: readonly RuntimeAnswer[] }> {
  const node = await startNode(name);
  const yaml = POD_BLOCKS.get(name)!;
  const changed = change(yaml);
  if (changed === yaml) throw new Error('nothing was changed');
  return { node, answers: runPod(node, readPod(changed), knows) };
}

describe('what the page says beside the examples', () => {
  test('database: three CPUs are refused, and so is more memory than a NUMA node has', async () => {
    expectSaid('With `cpu: "3"` this pod [is refused]');
    const odd = await tryPod('database', (yaml) => yaml.replace('cpu: "4"', 'cpu: "3"'));
    expect(odd.answers).toMatchObject([{ kind: 'refuse', message: expect.stringContaining('whole cores') as string }]);
    expectSaid('as with `memory: 12Gi`');
    const large = await tryPod('database', (yaml) => yaml.replace('6Gi', '12Gi'));
    expect(large.answers).toMatchObject([{ kind: 'refuse', message: expect.stringContaining('NUMA') as string }]);
  });

  test('database: under best-effort it runs on two NUMA nodes then', async () => {
    expectSaid('To let it run on two nodes, set [`topology-manager-policy: best-effort`]');
    const change = (given: Settings): Settings => ({
      ...given,
      topologyManager: { ...given.topologyManager!, policy: 'best-effort' },
    });
    const node = await startNode('database', change);
    runPod(node, readPod(POD_BLOCKS.get('database')!.replace('6Gi', '12Gi')));
    expect(listHeld(node)).toEqual({ 'postgres/postgres': expect.stringContaining('memory 0-1') as string });
  });

  test('poller: the CPUs of its threads and their siblings, and the CPUs that interrupts come to', async () => {
    const { node } = await playRecipe('poller');
    const { topology, exclusive, settings } = node.model;
    const cores = topology.cores.map(({ cpus }) => cpus.intersect(exclusive).toArray());
    const [threads, siblings] = [0, 1].map((thread) => cores.flatMap((cpus) => cpus[thread] ?? []));
    const name = (cpus: readonly number[] | undefined): string => cpus!.map((cpu) => `\`${cpu}\``).join(' and ');
    expectSaid(`here on CPUs ${name(threads)}. Their siblings ${name(siblings)} belong to the container`);
    const plan = planIrqAffinity({
      readings: [{ irq: 24, device: 'eth0', affinity: topology.online }],
      known: new Map(),
      exclusive,
      online: topology.online,
      housekeeping: settings.reserved,
    });
    const written = plan.writes.map(({ cpus }) => cpus.toString()).join();
    expectSaid(`could come to CPUs \`${topology.online.toString()}\` now comes to \`${written}\``);
    expect((await loadOptions('poller')).config.irqAffinity).toBe('steer');
  });

  test('llm: the command of the pod counts the CPUs that it is told', async () => {
    const { answers } = await playRecipe('llm');
    const identity = answers.map((answer) => (answer.kind === 'ok' ? answer.identity : undefined))[0]!;
    const env = Object.fromEntries(variablesOf({ hostDirectory: '', ...identity }));
    const { containers } = readPod(POD_BLOCKS.get('llm')!).document['spec'] as { containers: { command: string[] }[] };
    const [shell, flag, script] = containers[0]!.command as [string, string, string];
    const printed = execFileSync(shell, [flag, `sleep() { :; }\n${script}`], {
      env: { ...env, PATH: process.env['PATH'] },
      encoding: 'utf8',
    });
    expectSaid(`here \`${printed.trim()}\``);
  });

  test('llm: 16 CPUs are a cache and 32 a NUMA node; without the option the CPUs are of two caches', async () => {
    const { node } = await playRecipe('llm');
    const { topology } = node.model;
    expectSaid('16 CPUs are one cache here, and 32 are a NUMA node');
    expect(topology.uncoreCaches.map(({ cpus }) => cpus.size)).toEqual([16, 16, 16, 16]);
    expect(topology.numaNodes.map(({ cpus }) => cpus.size)).toEqual([32, 32]);
    const change = (given: Settings): Settings => ({
      ...given,
      options: { ...given.options, preferAlignCpusByUncorecache: false },
    });
    const without = await startNode('llm', change);
    runPod(without, readPod(POD_BLOCKS.get('llm')!));
    const { cpus } = without.model.assignments.values().next().value!;
    expectSaid(`the server would get \`${cpus.toString()}\`, of two caches`);
    expect(topology.uncoreCaches.filter((cache) => cache.cpus.overlaps(cpus))).toHaveLength(2);
  });

  test('immovable: the database moves shared containers, and not this one', async () => {
    const node = await startNode('immovable');
    const [engine, database] = ['immovable', 'database'].map((name) => readPod(POD_BLOCKS.get(name)!));
    runPod(node, engine!);
    node.run('make web/nginx 0.5');
    const before = listHeld(node);
    node.send({ kind: 'create-container', pod: database!.info, container: database!.containers[0]! });
    const after = listHeld(node);
    const cpusOf = (held: Record<string, string>, id: string): string => held[id]!.replace(/^\w+ /, '');
    const [from, to] = [before, after].map((held) => cpusOf(held, 'web/nginx#1'));
    expectSaid(`Shared containers moved from \`${from!}\` to \`${to!}\``);
    expect(node.moves.map(({ containerId }) => containerId)).toEqual(['web/nginx#1']);
    expect(after['io-engine/io-engine']).toBe(before['io-engine/io-engine']);
    expectSaid(`stayed on \`${cpusOf(after, 'io-engine/io-engine')}\``);
  });

  test('immovable: a Burstable pod gets it too, but not one whose limit differs from its request', async () => {
    const burstable = await tryPod('immovable', (yaml) => yaml.replace(', memory: 1Gi', ''));
    expect(listHeld(burstable.node)).toEqual({ 'io-engine/io-engine': 'immovable 1,9' });
    const unequal = await tryPod('immovable', (yaml) =>
      yaml.replace('limits: {', 'requests: { cpu: "1" }\n        limits: {'),
    );
    expect(listHeld(unequal.node)).toEqual({ 'io-engine/io-engine': 'shared 0-15' });
  });

  test('sidecars: without all limits the containers share, and without the annotation the proxy does not', async () => {
    const limits = '      resources:\n        limits: { cpu: 250m, memory: 64Mi }\n';
    const burstable = await tryPod('sidecars', (yaml) => yaml.replace(limits, ''));
    const all = ['app/logs', 'app/main', 'app/proxy'];
    expect(listHeld(burstable.node)).toEqual(Object.fromEntries(all.map((id) => [id, 'shared 0-15'])));
    const plain = await tryPod('sidecars', (yaml) => yaml.replace(/ {2}annotations:\n.*\n/, ''));
    expect(listHeld(plain.node)).toMatchObject({ 'app/proxy': expect.stringMatching(/^static \d+$/) as string });
  });

  test('sidecars: only the main container loses its quota, and all are told their CPUs', async () => {
    const { answers } = await playRecipe('sidecars');
    const adjusted = answers.map((answer) => (answer.kind === 'ok' ? answer.adjust : undefined));
    expect(adjusted.map((adjust) => adjust?.quotaUs)).toEqual([undefined, -1, undefined]);
    expect(adjusted.map((adjust) => adjust?.cpus?.toString())).toEqual(['0-15', '1,9', '0,2-8,10-15']);
    expectSaid('it prints `1,9`');
  });

  test('sidecars: resources of the pod as a whole give no exclusive CPUs', async () => {
    const asWhole = (yaml: string): string =>
      yaml.replace('\nspec:\n', '\nspec:\n  resources:\n    limits: { cpu: "4", memory: 2Gi }\n');
    const { node } = await tryPod('sidecars', asWhole, 'spec');
    expect([...node.model.assignments.keys()]).toEqual([]);
  });

  test('kubelet: the import is done, and the container keeps the CPUs that the page names', async () => {
    const { node, imported } = await importFromKubelet();
    expect(imported).toMatchObject({ status: 0, stderr: '' });
    expect(listHeld(node)).toEqual({ [`${UID}/postgres`]: `static ${KUBELET_CPUS}` });
    expectSaid(`has pinned the pod of recipe 1 to \`${KUBELET_CPUS}\``);
  });

  test('crane: a changed annotation moves the running containers', async () => {
    const { node } = await playRecipe('crane', 'spec');
    const policy = 'topology.crane.io/cpu-policy';
    const { spec } = readPod(POD_BLOCKS.get('crane')!.replace(`${policy}: exclusive`, `${policy}: none`));
    node.send({ kind: 'pod-spec', spec });
    expectSaid(`with \`${policy}: none\` both containers share`);
    expect(listHeld(node)).toEqual({ 'search/index': 'shared 0-15', 'search/query': 'shared 0-15' });
  });

  test('nri-plugins: the annotation changes nothing, and the patch is for the DaemonSet of deploy', async () => {
    const { node } = await tryPod('nri-plugins', (yaml) => yaml.replace(/ {2}annotations: .*\n/, ''));
    expect(listHeld(node)).toEqual(RECIPES['nri-plugins']!.gets);
    const [, namespace, name, patch] = /kubectl -n (\S+) patch daemonset (\S+) --patch '(.*)'/.exec(page)!;
    const daemonSet = parse(readFileSync(join(ROOT, 'deploy/base/daemonset.yaml'), 'utf8')) as object;
    expect(daemonSet).toMatchObject({ kind: 'DaemonSet', metadata: { namespace, name } });
    const { nodeSelector } = readPod(POD_BLOCKS.get('nri-plugins')!).document['spec'] as { nodeSelector: object };
    expect(JSON.parse(patch!)).toEqual({ spec: { template: { spec: { nodeSelector } } } });
  });

  test('nri-plugins: the check finds balloons and topology-aware by their processes, and nothing without them', async () => {
    for (const name of ['balloons', 'topology-aware'])
      expect((await findManagers(`nri-resource-policy-${name}`)).map(({ level }) => level)).toEqual(['error']);
    expect((await findManagers('containerd')).map(({ level }) => level)).toEqual(['ok']);
  });
});
