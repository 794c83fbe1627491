import { ALARM_KINDS } from '../../src/admin/model/alarm';
import { BESIDE_PINNING, CONDITION_REASONS } from '../../src/app/apiserver/pinning-condition';
import { nameOf, OPTION_KEYS, OPTIONS } from '../../src/app/config';
import { POD_EVENT_REASONS } from '../../src/app/journal/event-log';
import { ACTION_EVENT_REASONS } from '../../src/qos/avoidance/pod-event';
import { CpuSet } from '../../src/core/cpuset';
import { OPTIONS_BY_NAME } from '../../src/core/model/settings';
import { POLICY_NAMES, POLICY_TABLE } from '../../src/core/model/policies';
import { parseTopologyManagerOptions } from '../../src/core/options/topology-manager-options';
import { DRIFT_CAUSES } from '../../src/core/verdict/drift-cause';
import { judgeNow, basisOf, type Judgement } from '../../src/core/verdict/judgement';
import { judge, VERDICT_KINDS } from '../../src/core/verdict/judge';
import { CONDITION_TYPE } from '../../src/kube';
import { EVENTS } from '../../src/nri-events/read-event';
import { NodeDriver } from '../core/transition/node-driver';
import { readPage, readTable } from './markdown';

const page = readPage('concepts.md');
const monitoring = readPage('monitoring.md');

/** Cells of the first column of a table, found by its head, without links and remarks in brackets. */
function listNames(head: string): string[] {
  const [, rest] = page.split(`\n| ${head} |`);
  if (rest === undefined) throw new Error(`the page has no table with the head "${head}"`);
  const rows = rest.split('\n\n')[0]!.trimEnd().split('\n').slice(2);
  return rows.map((row) => /`([^`]+)`/.exec(row.split('|')[1]!)?.[1] ?? row);
}

/** Names in code marks in the cells of a row, but for those of its first cell. */
function listInRow(table: string, heading: string, first: RegExp): string[] {
  const rows = table.slice(table.indexOf(`\n${heading}\n`)).split('\n');
  const row = rows.find((line) => line.startsWith('|') && first.test(line.split('|')[1]!));
  if (row === undefined) throw new Error(`no row ${first} below "${heading}"`);
  return [
    ...row
      .split('|')
      .slice(2)
      .join('|')
      .matchAll(/`([^`]+)`/g),
  ].map(([, name]) => name!);
}

const choicesOf = (option: 'mode' | 'topologyManagerPolicy'): string[] => OPTIONS[option].type.placeholder.split('|');

/** The options that the topology manager takes: it names them when it refuses another. */
function listTopologyManagerOptions(): string[] {
  const refused = parseTopologyManagerOptions(new Map([['nope', 'x']]));
  return refused.ok ? [] : refused.problem.because.replace(/^.*options are /, '').split(', ');
}

test.each([
  ['verdict', VERDICT_KINDS],
  ['alarm', ALARM_KINDS],
  ['policy', POLICY_NAMES],
  ['`--mode`', choicesOf('mode')],
  ['`--cpu-manager-policy-options`', [...OPTIONS_BY_NAME.keys()]],
  ['`--topology-manager-policy`', choicesOf('topologyManagerPolicy')],
  ['`--topology-manager-policy-options`', listTopologyManagerOptions()],
])('the table with the head %s has each name of the code once, and no other', (head, names) => {
  expect(listNames(head).sort()).toEqual([...names].sort());
});

test('the causes of a drift are those of the code', () => {
  const [, sentence = ''] = /names\s+the\s+probable\s+\[cause\][^:]*:([^.]*)\./.exec(page) ?? [];
  const named = [...sentence.matchAll(/`([^`]+)`/g)].map(([, cause]) => cause!);
  expect(named.sort()).toEqual([...DRIFT_CAUSES].sort());
});

test('the policies that the page calls those of Crane are the last rows of their table', () => {
  const crane = POLICY_NAMES.filter((name) => POLICY_TABLE[name].isCranes);
  expect(page).toContain('\nThe last four are [Crane');
  expect(listNames('policy').slice(-4).sort()).toEqual([...crane].sort());
});

test('the alarms that do not count for the condition of the Node are those of the code', () => {
  const [, list = ''] = /These alarms do not count[^:]*:([^.]*)\./.exec(monitoring) ?? [];
  const named = [...list.matchAll(/`([^`]+)`/g)].map(([, kind]) => kind!);
  expect(named).toEqual([...BESIDE_PINNING].sort());
});

describe.each([
  ['concepts.md', page],
  ['monitoring.md', monitoring],
])('on %s', (name, text) => {
  const isConcepts = name === 'concepts.md';

  test('the condition of the Node has the name and the reasons of the code', () => {
    expect(text).toContain(`ondition \`${CONDITION_TYPE}\``);
    const named = isConcepts
      ? listInRow(page, '## The cluster', /condition/).filter((word) => word !== 'True' && word !== 'False')
      : readTable(monitoring, '## The condition of the Node').map(([, reason]) => reason!.split(',')[0]!);
    expect(named.sort()).toEqual([...CONDITION_REASONS].sort());
  });

  test('the reasons of Events are those of the code', () => {
    const named = isConcepts
      ? listInRow(page, '## The cluster', /Events/)
      : readTable(monitoring, '## Events').map(([reason]) => reason!);
    expect(named.sort()).toEqual([...POD_EVENT_REASONS, ...ACTION_EVENT_REASONS].sort());
  });
});

test('every option that the page names is one of cpusetd run', () => {
  const known = OPTION_KEYS.map((key) => `--${nameOf(key)}`);
  const named = [...page.matchAll(/(?<=`)--[a-z][a-z-]+/g)].map(([option]) => option);
  expect(named).toContain('--mode');
  expect(named.filter((option) => !known.includes(option))).toEqual([]);
});

describe('the picture of the life of a container', () => {
  const [, picture = ''] = /## The life of a container\n\n```\n([^]*?)```/.exec(page) ?? [];
  const lines = picture.split('\n');
  const width = lines[0]!.indexOf('verdict');
  /** Verdicts of the step that begins with this word, its further lines included. */
  const verdictsOf = (step: string): string[] => {
    const from = lines.findIndex((line) => line.startsWith(step));
    const to = lines.findIndex((line, i) => i > from && /^\S/.test(line));
    return lines.slice(from, to).flatMap((line) => line.slice(width).trim() || []);
  };
  const steps = lines.flatMap((line) => /^([A-Z]\w+) +──►/.exec(line)?.[1] ?? []);

  test('its steps are events that cpusetd subscribes to', () => {
    expect(steps).toContain('CreateContainer');
    expect(steps.filter((step) => !(EVENTS as readonly string[]).includes(step))).toEqual([]);
  });

  test('each step has the verdicts and the effects that the code gives', () => {
    const node = new NodeDriver();
    let last: Judgement | undefined;
    const look = (cpus = node.container('p/app')!.promise!.cpus) => {
      const container = node.container('p/app')!;
      const observation = { kind: 'seen', cpus, effective: cpus, mems: CpuSet.empty } as const;
      const verdict = judge(node.model, container, observation);
      last = { verdict, observation, basis: basisOf(node.model, container) };
    };
    const verdict = () => judgeNow(node.model, node.container('p/app')!, last).kind;
    const reported = () => node.reported.map(({ kind }) => kind);

    node.run('pod p; ask p/app 2');
    expect(reported()).toContain('pinned');
    expect(verdictsOf('CreateContainer')).toEqual([verdict()]);

    node.run('created p/app; starting p/app');
    expect(verdictsOf('StartContainer')).toEqual([verdict()]);

    node.run('started p/app');
    look();
    expect(verdictsOf('PostStartContainer')).toEqual([verdict()]);

    const seen: string[] = [];
    for (const cpus of [node.model.topology.online, undefined]) {
      look(cpus);
      seen.push(verdict());
    }
    expect(verdictsOf('a foreign write')).toEqual(seen);

    const before = node.container('p/app')!.promise!.cpus;
    node.run('resize p/app 3');
    expect(before.isSubsetOf(node.container('p/app')!.promise!.cpus)).toBe(true);
    expect(verdictsOf('UpdateContainer')).toEqual([verdict()]);
    look();
    expect(verdictsOf('PostUpdateContainer')).toEqual([verdict()]);

    node.run('end p/app');
    expect(reported()).toEqual(['idle']);
    node.run('stop p');
    expect(reported()).toEqual(['released']);
    expect(node.state).toBe('pool 0-7');
  });

  test('its steps stand in the order in which they were played', () => {
    expect(steps).toEqual([
      'RunPodSandbox',
      'CreateContainer',
      'StartContainer',
      'PostStartContainer',
      'UpdateContainer',
      'PostUpdateContainer',
      'StopContainer',
      'StopPodSandbox',
    ]);
  });
});
