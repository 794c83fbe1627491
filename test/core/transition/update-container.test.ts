import type { CpuResources } from '../../../src/core/model/events';
import { NodeDriver, resourcesOf, type Rules } from './node-driver';

test.each`
  name                                                     | before                               | resize       | reply                           | state                                    | moves
  ${'more CPUs: it keeps its CPUs and gets others'}        | ${'make p/a 2'}                      | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}           | ${'p/a#1 1,5>1-2,5-6'}
  ${'more CPUs: others are moved first'}                   | ${'make p/a 2; make q/s 0'}          | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}           | ${'q/s#1 0,2-4,6-7>0,3-4,7; p/a#1 1,5>1-2,5-6'}
  ${'idle CPUs of the pod are left to who had them'}       | ${'make p/i 2; make p/a 2; end p/i'} | ${'p/a 4'}   | ${'cpus 2-3,6-7'}               | ${'p/a 2-3,6-7; p/i 1,5 idle; pool 0,4'} | ${'p/a#1 2,6>2-3,6-7'}
  ${'fewer CPUs: it keeps some of its CPUs'}               | ${'make p/a 4'}                      | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}             | ${'p/a#1 1-2,5-6>1,5'}
  ${'fewer CPUs: it is moved before others come'}          | ${'make q/s 0; make p/a 4'}          | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}             | ${'p/a#1 1-2,5-6>1,5; q/s#1 0,3-4,7>0,2-4,6-7'}
  ${'more than there are: refused, and it keeps its CPUs'} | ${'make p/a 2; make q/b 4'}          | ${'p/a 4'}   | ${'refused RESOURCE_EXHAUSTED'} | ${'p/a 1,5; q/b 2-3,6-7; pool 0,4'}      | ${''}
  ${'a fraction: it shares from now on'}                   | ${'make p/a 2'}                      | ${'p/a 1.5'} | ${'cpus 0-7'}                   | ${'pool 0-7'}                            | ${'p/a#1 1,5>0-7'}
  ${'a fraction becomes whole: it gets CPUs of its own'}   | ${'make p/a 1.5; make q/s 0'}        | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}             | ${'p/a#1 0-7>1,5; q/s#1 0-7>0,2-4,6-7'}
  ${'one fraction becomes another: it still shares'}       | ${'make p/a 1.5; make q/b 2'}        | ${'p/a 2.5'} | ${'cpus 0,2-4,6-7'}             | ${'q/b 1,5; pool 0,2-4,6-7'}             | ${''}
  ${'the same numbers change nothing'}                     | ${'make p/a 2'}                      | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}             | ${''}
  ${'before its start: the answer alone has the CPUs'}     | ${'create p/a 2'}                    | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}           | ${''}
`('$name', (row: { before: string; resize: string; reply: string; state: string; moves: string }) => {
  const node = new NodeDriver().run(`${row.before}; resize ${row.resize}`);
  expect({ reply: node.reply, state: node.state, moves: node.movesMade }).toEqual({
    reply: row.reply,
    state: row.state,
    moves: row.moves,
  });
});

test.each`
  name                                                  | changed                          | reply
  ${'a cpuset of another program is replaced'}          | ${{ cpus: '0-7' }}               | ${'cpus 1,5'}
  ${'an update without a cpuset gets the promised one'} | ${{}}                            | ${'cpus 1,5'}
  ${'an update of memory gets the promised cpuset'}     | ${{ memoryLimitBytes: 1 << 27 }} | ${'cpus 1,5'}
  ${'an update of shares alone is no resize'}           | ${{ shares: 4096 }}              | ${'cpus 1,5'}
  ${'an update of the quota alone is no resize'}        | ${{ quotaUs: 400_000 }}          | ${'cpus 1,5'}
  ${'an update to an unlimited quota is no resize'}     | ${{ quotaUs: -1 }}               | ${'cpus 1,5'}
  ${'a cpuset that can not be parsed is replaced'}      | ${{ cpus: 'all of them' }}       | ${'cpus 1,5'}
`('given an exclusive container: $name', ({ changed, reply }: { changed: CpuResources; reply: string }) => {
  const node = new NodeDriver().run('make p/a 2');
  node.update('p/a', changed);
  expect({ reply: node.reply, state: node.state }).toEqual({ reply, state: 'p/a 1,5; pool 0,2-4,6-7' });
});

test('given several updates, then their numbers together make the resize', () => {
  const node = new NodeDriver().run('make p/a 2');
  node.update('p/a', { shares: 4096 });
  node.update('p/a', { quotaUs: 400_000 });
  expect(node.state).toBe('p/a 1-2,5-6; pool 0,3-4,7');
});

test('given a shared container, then it stays in the pool, whatever cpuset the update carries', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2');
  node.update('q/s', { cpus: '1' });
  expect(node.reply).toBe('cpus 0,2-4,6-7');
});

test('given a container that is left alone, then its update is not changed', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('make p/a 2');
  node.update('p/a', { cpus: '3' });
  expect(node.reply).toBe('ok');
});

test('given an unknown container, then it is placed', () => {
  const node = new NodeDriver().run('know p/a 2');
  const { pod, container } = node.infoOf('p/a');
  node.send({ kind: 'update-container', pod, container: { ...container, phase: 'running' }, resources: {} });
  expect({ reply: node.reply, state: node.state }).toEqual({ reply: 'cpus 1,5', state: 'p/a 1,5; pool 0,2-4,6-7' });
});

describe('given a lifted quota, then it', () => {
  const node = () => new NodeDriver(undefined, { liftCpuQuota: true }).run('make p/a 2');

  test.each`
    name                                          | changed                          | reply
    ${'stays lifted when an update sets it'}      | ${resourcesOf(2)}                | ${'cpus 1,5 quota -1'}
    ${'stays lifted through a resize'}            | ${resourcesOf(4)}                | ${'cpus 1-2,5-6 quota -1'}
    ${'is left out when the update has no quota'} | ${{ memoryLimitBytes: 1 << 27 }} | ${'cpus 1,5'}
    ${'applies again when the container shares'}  | ${resourcesOf(1.5)}              | ${'cpus 0-7'}
  `('$name', ({ changed, reply }: { changed: CpuResources; reply: string }) => {
    const running = node();
    running.update('p/a', changed);
    expect(running.reply).toBe(reply);
  });

  test('stays lifted for containers that had it when lift-cpu-quota is switched off', () => {
    const running = node();
    running.setRules({ liftCpuQuota: false });
    running.update('p/a', { ...resourcesOf(2), memoryLimitBytes: 1 << 27 });
    expect(running.reply).toBe('cpus 1,5 quota -1');
  });
});

test.each`
  name                                | rules
  ${'its CPUs are reserved'}          | ${{ reserved: '0-2' }}
  ${'the policy is none'}             | ${{ cpuManagerPolicy: 'none' }}
  ${'only whole cores are given out'} | ${{ options: { fullPcpusOnly: true } }}
`('given new rules ($name), then an update of memory takes no CPUs away', ({ rules }: { rules: Rules }) => {
  const node = new NodeDriver().run('make p/a 3; make q/s 0');
  const { state } = node;
  node.setRules(rules);
  node.update('p/a', { ...resourcesOf(3), memoryLimitBytes: 1 << 27 });
  expect({ reply: node.reply, state: node.state }).toEqual({ reply: 'cpus 1,4-5', state });
});
