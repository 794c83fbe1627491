import { formatStatusTable } from '../../../src/cli/status/status-table';
import { parseCpuList } from '../../../src/core/cpuset';
import { container, sampleStatus } from '../../admin/sample-status';

const at = (second: number): string => `2026-11-21T10:00:0${second}.250Z`;

/** The KERNEL column of a shared container that was read at this second on these CPUs. */
function kernelColumn(seen: string, readAt: number, promise: { cpus: string; since?: string }): string {
  const cpus = parseCpuList(seen);
  const row = {
    ...container({ id: 'a', pod: 'web', container: 'nginx', placement: 'shared', requested: 0 }),
    promise: {
      cpus: parseCpuList(promise.cpus),
      mems: parseCpuList(''),
      ...(promise.since && { since: promise.since }),
    },
    observation: { cpus, effectiveCpus: cpus, mems: parseCpuList(''), at: at(readAt) },
  };
  const lines = formatStatusTable({ ...sampleStatus, containers: [row], idle: [] }, { isWide: true }).split('\n');
  const top = lines.findIndex((line) => line.startsWith('POD '));
  return lines[top + 1]!.slice(lines[top]!.indexOf('KERNEL')).split('  ')[0]!;
}

test.each`
  what                                                                   | seen     | readAt | promise                          | kernel
  ${'read after the promise'}                                            | ${'0'}   | ${3}   | ${{ cpus: '0', since: at(2) }}   | ${'0'}
  ${'read at the time of the promise'}                                   | ${'0'}   | ${2}   | ${{ cpus: '0', since: at(2) }}   | ${'0'}
  ${'read before the promise: with the time of the read'}                | ${'0-1'} | ${1}   | ${{ cpus: '0', since: at(2) }}   | ${'0-1 [read 2026-11-21T10:00:01Z]'}
  ${'read before a promise of the same CPUs: with the time of the read'} | ${'0-1'} | ${1}   | ${{ cpus: '0-1', since: at(2) }} | ${'0-1 [read 2026-11-21T10:00:01Z]'}
  ${'read, given a promise without time'}                                | ${'0-1'} | ${1}   | ${{ cpus: '0' }}                 | ${'0-1'}
`('the observation, $what', ({ seen, readAt, promise, kernel }) => {
  expect(kernelColumn(seen as string, readAt as number, promise as { cpus: string })).toBe(kernel);
});

test('one CPU and one container are in the singular', () => {
  const gap = { from: at(1), to: at(2), containers: 1, names: ['ns/web/nginx'] };
  const node = { ...sampleStatus.node, free: parseCpuList('1'), gap };
  const lines = formatStatusTable({ ...sampleStatus, node }).split('\n');
  expect(lines).toContain('free         1 (1 CPU)');
  expect(lines).toContainEqual(expect.stringMatching(/: 1 container started without cpusetd \(ns\/web\/nginx\)$/));
});

describe('given two pods of one namespace and name', () => {
  const [sample] = sampleStatus.idle;
  const idle = { ...sample!, namespace: 'ns', pod: 'web', podUid: 'the-old-one', keptByApiServer: true as const };
  const running = { ...container({ id: 'a', pod: 'web', container: 'nginx', placement: 'shared', requested: 0 }) };
  const status = {
    ...sampleStatus,
    containers: [{ ...running, namespace: 'ns', podUid: 'the-new-one' }],
    idle: [idle],
  };

  test('then their uids are shown', () => {
    const text = formatStatusTable(status);
    expect(text).toMatch(/^POD .* POD UID +BECAUSE\n.* the-new-one /m);
    expect(text).toMatch(
      /^POD .* POD UID +BECAUSE\n.* the-old-one +the runtime has nothing of the pod any more: only the/m,
    );
    expect(formatStatusTable({ ...status, idle: [] })).not.toContain('POD UID');
  });
});
