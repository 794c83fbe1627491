import { formatQos } from '../../../src/cli/qos/format-qos';
import { PLAIN } from '../../../src/cli/format/terminal';
import { sampleLent, sampleQos, sampleUsage } from '../../admin/sample-status';

const linesOf = (node: Parameters<typeof formatQos>[0]): string[] => formatQos(node).split('\n');

test('given nothing that is on, each part says so', () => {
  expect(linesOf({})).toEqual([
    'usage      not measured: collect-interval is off, or there was no second reading yet',
    'rules      no NodeQOS objects are followed',
    'lent       nothing: node-resource is off',
    '',
  ]);
});

test('given everything: the node, promised CPUs, rules, throttled containers, actions', () => {
  expect(linesOf({ usage: sampleUsage, qos: sampleQos, lent: sampleLent })).toEqual([
    'read       2026-11-21T10:00:00Z, in 4.5 ms',
    'CPUs       37.5 % of 8 CPUs busy',
    'memory     12 GiB of 32 GiB used',
    'load       3.20 over 1 minute',
    'exclusive  2.5 CPUs used by owners, 0.25 CPUs used by others, 1.25 CPUs unused, of all exclusive CPUs together',
    'rules      mode enforce, 9 actions and 2 evictions left in this hour',
    'new pods   kept away since 2026-11-21T10:00:00Z: busy/cpu is triggered',
    'lent       2.5 CPUs and 6 GiB of memory, since 2026-11-21T10:00:00Z: 40 % of the node is kept back',
    '',
    'Promised CPUs, and what their containers did with them.',
    'POD          CONTAINER  CPUS   USED                WAIT       THROTTLED',
    'default/far  numa       1,6-7  3 CPUs (100 %)      -          -',
    'default/web  app        2-3    0.75 CPUs (37.5 %)  12.3 ms/s  20 %',
    '',
    'Rules of NodeQOS objects.',
    'RULE         STATE      ACTION     BECAUSE',
    'busy/cpu     triggered  slow-down  cpu_total_utilization is 81 for 3 readings, above 75',
    'busy/memory  restored   clear      memory_total_usage is below its threshold',
    '',
    'Throttled: containers whose CFS quota a rule made smaller.',
    'POD           CONTAINER  FROM      TO        SINCE                 BECAUSE',
    'batch/job     main       2 CPUs    1.2 CPUs  2026-11-21T10:00:00Z  busy/cpu is triggered',
    'batch/mapper  main       no limit  0.5 CPUs  2026-11-21T10:00:00Z  busy/cpu is triggered',
    '',
    'The last actions.',
    'TIME                  ACTION    SUBJECT         OUTCOME  BECAUSE',
    '2026-11-21T10:00:00Z  throttle  batch/job/main  done     busy/cpu is triggered',
    '2026-11-21T10:00:00Z  evict     batch/old       failed   a PodDisruptionBudget does not allow it',
    '',
  ]);
});

test('what could not be read is told, and a part that does not exist is left out', () => {
  const lines = linesOf({ usage: { at: sampleUsage.at, busyMs: 12, cpuCores: 8, sets: [] } });
  expect(lines.slice(0, 4)).toEqual([
    'read       2026-11-21T10:00:00Z, in 12 ms',
    'CPUs       could not be read',
    'memory     could not be read',
    'rules      no NodeQOS objects are followed',
  ]);
});

test('rules that can not be followed say why instead of a budget; preview says that nothing was done', () => {
  const text = formatQos({ qos: { ...sampleQos, because: 'the API server is away' } });
  expect(text).toContain('rules      mode enforce, no rule is followed: the API server is away\n');
  expect(text).not.toContain('left in this hour');
  expect(formatQos({ qos: { ...sampleQos, mode: 'preview' } })).toContain(
    'The last actions, as they would have been: preview changes nothing.\n',
  );
});

test('a narrow terminal breaks sentences into lines', () => {
  const text = formatQos({ usage: sampleUsage, qos: sampleQos, lent: sampleLent }, { ...PLAIN, width: 60 });
  const tables = text.split('\n').filter((line) => !line.endsWith('.'));
  expect(Math.max(...tables.map(({ length }) => length))).toBeLessThanOrEqual(60);
});
