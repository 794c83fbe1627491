import type { CpuResources } from '../../../src/core/model/events';
import { NodeDriver, resourcesOf, type Rules } from './node-driver';

test.each`
  name                                                        | before                               | resize       | reply                           | state                               | moves
  ${'more CPUs: those that it has, and others'}               | ${'make p/a 2'}                      | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${'p/a#1 1,5>1-2,5-6'}
  ${'more CPUs: others leave them first'}                     | ${'make p/a 2; make q/s 0'}          | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${'q/s#1 0,2-4,6-7>0,3-4,7; p/a#1 1,5>1-2,5-6'}
  ${'idle CPUs of the pod go before free ones'}               | ${'make p/i 2; make p/a 2; end p/i'} | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${'p/a#1 2,6>1-2,5-6'}
  ${'fewer CPUs: some of those that it has'}                  | ${'make p/a 4'}                      | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 1-2,5-6>1,5'}
  ${'fewer CPUs: it leaves them before others come'}          | ${'make q/s 0; make p/a 4'}          | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 1-2,5-6>1,5; q/s#1 0,3-4,7>0,2-4,6-7'}
  ${'more than there are: refused, and it keeps what it has'} | ${'make p/a 2; make q/b 4'}          | ${'p/a 4'}   | ${'refused RESOURCE_EXHAUSTED'} | ${'p/a 1,5; q/b 2-3,6-7; pool 0,4'} | ${''}
  ${'a fraction: it shares from now on'}                      | ${'make p/a 2'}                      | ${'p/a 1.5'} | ${'cpus 0-7'}                   | ${'pool 0-7'}                       | ${'p/a#1 1,5>0-7'}
  ${'a fraction becomes whole: CPUs of its own'}              | ${'make p/a 1.5; make q/s 0'}        | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-7>1,5; q/s#1 0-7>0,2-4,6-7'}
  ${'one fraction becomes another'}                           | ${'make p/a 1.5; make q/b 2'}        | ${'p/a 2.5'} | ${'cpus 0,2-4,6-7'}             | ${'q/b 1,5; pool 0,2-4,6-7'}        | ${''}
  ${'the same numbers change nothing'}                        | ${'make p/a 2'}                      | ${'p/a 2'}   | ${'cpus 1,5'}                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${''}
  ${'before its start it is only told'}                       | ${'create p/a 2'}                    | ${'p/a 4'}   | ${'cpus 1-2,5-6'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${''}
`('$name', (row: { before: string; resize: string; reply: string; state: string; moves: string }) => {
  const node = new NodeDriver().run(`${row.before}; resize ${row.resize}`);
  expect({ reply: node.reply, state: node.state, moves: node.movesMade }).toEqual({
    reply: row.reply,
    state: row.state,
    moves: row.moves,
  });
});

test.each`
  name                                            | changed                          | reply
  ${'a foreign cpuset does not pass'}             | ${{ cpus: '0-7' }}               | ${'cpus 1,5'}
  ${'an update without a cpuset carries ours on'} | ${{}}                            | ${'cpus 1,5'}
  ${'so does one of memory'}                      | ${{ memoryLimitBytes: 1 << 27 }} | ${'cpus 1,5'}
  ${'shares alone mean no resize'}                | ${{ shares: 4096 }}              | ${'cpus 1,5'}
  ${'a quota alone means no resize'}              | ${{ quotaUs: 400_000 }}          | ${'cpus 1,5'}
  ${"a lifted quota is nobody's business"}        | ${{ quotaUs: -1 }}               | ${'cpus 1,5'}
  ${'a list that nobody can read'}                | ${{ cpus: 'all of them' }}       | ${'cpus 1,5'}
`('an exclusive container, $name', ({ changed, reply }: { changed: CpuResources; reply: string }) => {
  const node = new NodeDriver().run('make p/a 2');
  node.update('p/a', changed);
  expect({ reply: node.reply, state: node.state }).toEqual({ reply, state: 'p/a 1,5; pool 0,2-4,6-7' });
});

test('the numbers of all updates together make the resize', () => {
  const node = new NodeDriver().run('make p/a 2');
  node.update('p/a', { shares: 4096 });
  node.update('p/a', { quotaUs: 400_000 });
  expect(node.state).toBe('p/a 1-2,5-6; pool 0,3-4,7');
});

test('a shared container is kept in the pool, whatever cpuset the update carries', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2');
  node.update('q/s', { cpus: '1' });
  expect(node.reply).toBe('cpus 0,2-4,6-7');
});

test('one that is left alone gets what was asked for', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('make p/a 2');
  node.update('p/a', { cpus: '3' });
  expect(node.reply).toBe('ok');
});

test('one that nobody knows is placed', () => {
  const node = new NodeDriver().run('know p/a 2');
  node.update('p/a', {});
  expect({ reply: node.reply, state: node.state }).toEqual({ reply: 'cpus 1,5', state: 'p/a 1,5; pool 0,2-4,6-7' });
});

describe('a quota that was lifted', () => {
  const node = () => new NodeDriver(undefined, { liftCpuQuota: true }).run('make p/a 2');

  test.each`
    name                                         | changed                          | reply
    ${'stays lifted when an update sets it'}     | ${resourcesOf(2)}                | ${'cpus 1,5 quota -1'}
    ${'stays lifted through a resize'}           | ${resourcesOf(4)}                | ${'cpus 1-2,5-6 quota -1'}
    ${'is not mentioned when the update is not'} | ${{ memoryLimitBytes: 1 << 27 }} | ${'cpus 1,5'}
    ${'applies again to one that shares'}        | ${resourcesOf(1.5)}              | ${'cpus 0-7'}
  `('$name', ({ changed, reply }: { changed: CpuResources; reply: string }) => {
    const running = node();
    running.update('p/a', changed);
    expect(running.reply).toBe(reply);
  });

  test('stays lifted for those that had it when lifting is switched off', () => {
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
`('more memory under new rules ($name) takes no CPUs away', ({ rules }: { rules: Rules }) => {
  const node = new NodeDriver().run('make p/a 3; make q/s 0');
  const { state } = node;
  node.setRules(rules);
  node.update('p/a', { ...resourcesOf(3), memoryLimitBytes: 1 << 27 });
  expect({ reply: node.reply, state: node.state }).toEqual({ reply: 'cpus 1,4-5', state });
});
