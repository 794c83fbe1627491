import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

import type { ContainerStatus, Status, TopologyStatus } from '../../../src/admin/model/status';
import type { Explanation } from '../../../src/admin/model/explanation';
import { CpusetdError } from '../../../src/core/errors';
import { wellFormed } from '../../../src/core/show-text';
import { sampleRefused, sampleStatus, sampleTopology } from '../../admin/sample-status';
import { withAdminRig } from '../../admin/with-admin-server';
import { createRandom, type Random } from '../../support/random';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { randomText, unsafeIn } from '../../support/unsafe-text';

/** Thirteen columns, each with a text that is cut. */
const LONGEST_LINE = 16_384;

/** A copy with a random text for each of these keys. A few texts have hundreds of thousands of characters. */
function poison<T>(value: T, keys: ReadonlySet<string>, random: Random): T {
  const text = (): string => {
    const made = wellFormed(randomText(random, random.int(1, 40)));
    return random.chance(0.02) ? made.repeat(10_000) : made;
  };
  const walk = (at: unknown, isText: boolean): unknown => {
    if (typeof at === 'string') return isText ? text() : at;
    if (Array.isArray(at)) return at.map((item) => walk(item, isText));
    if (typeof at !== 'object' || at === null || Object.getPrototypeOf(at) !== Object.prototype) return at;
    return Object.fromEntries(Object.entries(at).map(([key, inner]) => [key, walk(inner, keys.has(key))]));
  };
  return walk(value, false) as T;
}

/** Keys whose texts come from pods, the runtime, the API server or another peer. */
const FOREIGN = new Set([
  ...['id', 'podUid', 'namespace', 'pod', 'container', 'because', 'reason', 'names', 'chosenBy', 'options', 'policy'],
  ...[
    'policyOptions',
    'runtimeName',
    'runtimeVersion',
    'version',
    'subject',
    'rule',
    'action',
    'outcome',
    'containerId',
    'now',
    'remedy',
    'code',
  ],
]);

/** An explanation of all containers of this status. */
function explanationOf({ containers, idle }: Status): Explanation {
  const step = { rule: 'a', took: containers[0]!.promise?.cpus ?? sampleStatus.node.online, because: 'b' };
  return {
    kind: 'containers',
    containers: containers.map((container: ContainerStatus) => ({ container: container, steps: [step] })),
    idle,
    refused: [sampleRefused],
    others: [],
  };
}

function faultsOf(printed: string): string[] {
  return printed
    .split('\n')
    .flatMap((line) =>
      [...(line.length > LONGEST_LINE ? [`${line.length} characters`] : []), unsafeIn(line) ?? []].flat(),
    );
}

test.each(Array.from({ length: 8 }, (_, seed) => seed))(
  'random names and reasons: no command prints control characters or too long lines (seed %i)',
  async (seed) => {
    const random = createRandom(seed);
    await withAdminRig(async ({ start, backend, health, socketPath, folder }) => {
      const status: Status = poison(sampleStatus, FOREIGN, random);
      const topology: TopologyStatus = poison(sampleTopology, FOREIGN, random);
      const fault = wellFormed(randomText(random, 2_000));
      backend.current = status;
      jest.spyOn(backend, 'topology').mockReturnValue(topology);
      jest.spyOn(backend, 'explain').mockImplementation(({ kind }) => {
        if (kind === 'cpus') throw new CpusetdError('FAILED_PRECONDITION', fault);
        return poison(explanationOf(status), FOREIGN, random);
      });
      health.set('', 'SERVING');
      await start();
      const stateFile = join(folder, 'state.json');
      writeFileSync(stateFile, JSON.stringify({ version: fault }));
      const name = wellFormed(randomText(random, 30).replaceAll('/', ''));

      const commands = [
        ['status'],
        ['qos'],
        ['topology'],
        ['topology', '-o', 'table'],
        ['explain', 'web'],
        ['explain', '--cpus', '2'],
        ['health'],
        ['health', `x${name}`],
      ].map((args) => [...args, '--admin-socket', socketPath]);
      for (const args of [
        ...commands,
        [`x${name}`],
        ['run', '--reserved-cpus', name],
        ['run', '--reserved-cpus', `${name}\n\n${fault}`, '--log-level', fault],
        ['status', '--admin-socket', join(folder, `x${name}`)],
        ['allocate', '--batch', `x${name}`, '--topologies', `x${name}`],
        ['state', 'verify', '--state-dir', folder],
        ['state', 'show', '--state-dir', `${folder}/${name}`],
        ['state', 'import-kubelet', '--dry-run', stateFile],
      ]) {
        const { stdout, stderr } = await cpusetd(args);
        expect({ args, faults: [...faultsOf(stdout), ...faultsOf(stderr)] }).toEqual({ args, faults: [] });
      }
    });
  },
);

test('JSON and YAML have the exact data and are safe in a terminal', async () => {
  const random = createRandom(100);
  await withAdminRig(async ({ start, backend, socketPath }) => {
    backend.current = poison(sampleStatus, new Set([...FOREIGN].filter((key) => key !== 'id')), random);
    jest.spyOn(backend, 'topology').mockReturnValue(poison(sampleTopology, FOREIGN, random));
    await start();
    const data: unknown = JSON.parse(JSON.stringify(backend.current));
    const json = await cpusetd(['status', '-o', 'json', '--admin-socket', socketPath]);
    const yaml = await cpusetd(['status', '-o', 'yaml', '--admin-socket', socketPath]);
    const map = await cpusetd(['topology', '-o', 'json', '--admin-socket', socketPath]);
    expect(JSON.parse(json.stdout)).toEqual(data);
    expect(parse(yaml.stdout)).toEqual(data);
    expect(JSON.parse(map.stdout)).toMatchObject({ online: '0-7' });
    for (const { stdout } of [json, yaml, map]) expect(stdout.split('\n').map(unsafeIn).filter(Boolean)).toEqual([]);
  });
});

test('a line break in an argument is escaped, so that it can’t look like another message', async () => {
  const { stderr } = await cpusetd(['run', '--reserved-cpus', '0', '--log-level', 'x"\ncpusetd: all is well']);
  expect(stderr.split('\n')).not.toContain(expect.stringMatching(/^cpusetd: all is well/));
  expect(stderr).toContain('\\ncpusetd: all is well');
});
