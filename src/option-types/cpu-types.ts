import { CpuListError, CpuSet, MAX_CPU_ID, parseCpuList } from '../core/cpuset';
import { POLICY_NAMES, type PolicyName } from '../core/model/policies';
import { LEAVE_ALONE_PATTERN, parseLeaveAloneRule } from '../core/model/leave-alone-rule';
import type { LeaveAloneRule } from '../core/model/settings';
import { accept, excerpt, reject, textOf, type ValueType } from './value-type';

/** CPUs in the kernel's list format; at least one. */
export const cpuList: ValueType<CpuSet> = {
  placeholder: 'cpus',
  parse: (text) => {
    const remedy = 'write CPU ids and ranges like 0-1,8';
    try {
      const cpus = parseCpuList(text);
      return cpus.isEmpty ? reject('names no CPU', remedy) : accept(cpus);
    } catch (error) {
      if (error instanceof CpuListError) return reject('is not a list of CPUs', remedy);
      throw error;
    }
  },
  inFile: (z) => {
    const list = textOf(z, /^\s*\d+(?:-\d+)?\s*(?:,\s*\d+(?:-\d+)?\s*)*$/);
    return z.union([list, z.array(list).check(z.minLength(1))]);
  },
};

/** NUMA nodes in the kernel's list format, `all`, or `none`. */
export const nodeList: ValueType<CpuSet | 'all'> = {
  placeholder: 'nodes',
  parse: (text) => {
    if (text === 'all') return accept('all' as const);
    if (text === 'none') return accept(CpuSet.empty);
    const list = cpuList.parse(text);
    return list.ok
      ? accept(list.value)
      : reject('is not a list of NUMA nodes', 'write node ids like 2 or 2-3, all or none');
  },
  inFile: (z) => z.union([cpuList.inFile!(z), z.enum(['all', 'none'])]),
};

/**
 * The number of CPUs of a Kubernetes quantity (`2`, `1.5`, `500m`), rounded up to whole CPUs as the kubelet does
 * with a reservation; more than zero.
 */
export const cpuQuantity: ValueType<number> = {
  placeholder: 'quantity',
  parse: (text) => {
    const remedy = 'write CPUs like 2, 1.5 or 500m';
    const match = /^(?:(\d{1,9})m|(\d{1,6}(?:\.\d{1,3})?))$/.exec(text);
    if (!match) return reject('is not a quantity of CPUs', remedy);
    const milliCpus = match[1] === undefined ? Math.round(Number(match[2]) * 1_000) : Number(match[1]);
    if (milliCpus === 0) return reject('reserves nothing, and the system needs at least one CPU', remedy);
    const count = Math.ceil(milliCpus / 1_000);
    return count <= MAX_CPU_ID ? accept(count) : reject('is more than any machine has', remedy);
  },
  inFile: (z) =>
    z.union([
      z.string().check(z.regex(/^(?:\d{1,9}m|\d{1,6}(?:\.\d{1,3})?)$/)),
      z.number().check(z.positive(), z.maximum(MAX_CPU_ID)),
    ]),
};

/** Options of a policy by name, values as they were written: `full-pcpus-only=true,strict-cpu-reservation=true`. */
export const keyValues: ValueType<ReadonlyMap<string, string>> = {
  placeholder: 'k=v,...',
  parse: (text) => {
    const remedy = 'write name=value, separated by commas';
    const values = new Map<string, string>();
    for (const part of text === '' ? [] : text.split(',')) {
      const [, name, value] = /^\s*([^=\s]+)\s*=\s*([^=\s]+)\s*$/.exec(part) ?? [];
      if (name === undefined || value === undefined)
        return reject(`has a part that is no pair (${excerpt(part.trim())})`, remedy);
      if (values.has(name)) return reject(`sets ${excerpt(name)} twice`, 'set it once');
      values.set(name, value);
    }
    return accept(values);
  },
  inFile: (z) => {
    const pair = /^\s*[^=\s]+\s*=\s*[^=\s]+\s*$/;
    return z.union([
      z.record(
        z.string().check(z.regex(/^[^=\s,]+$/)),
        z.union([z.boolean(), z.int(), z.string().check(z.regex(/^[^=\s,]+$/))]),
      ),
      z.array(z.string().check(z.regex(pair))),
      z.string().check(z.regex(/^(?:[^=\s,]+=[^=\s,]+(?:,\s*[^=\s,]+=[^=\s,]+)*)?$/)),
    ]);
  },
};

/**
 * The namespaces, pods and containers that cpusetd leaves alone: `NAMESPACE[/POD[/CONTAINER]]`, with `*` for any text;
 * empty = none.
 */
export const leaveAloneRules: ValueType<readonly LeaveAloneRule[]> = {
  placeholder: 'rules',
  parse: (text) => {
    const texts = text.trim() === '' ? [] : text.split(',').map((rule) => rule.trim());
    const rules = texts.map((rule) => ({ text: rule, rule: parseLeaveAloneRule(rule) }));
    const wrong = rules.find(({ rule }) => rule === undefined);
    if (wrong !== undefined)
      return reject(
        `has the rule ${excerpt(wrong.text)}, which names no namespace, pod or container`,
        'write NAMESPACE, NAMESPACE/POD or NAMESPACE/POD/CONTAINER, with * for any text',
      );
    return accept(rules.flatMap(({ rule }) => rule ?? []));
  },
  inFile: (z) => {
    const list = new RegExp(`^\\s*(?:${LEAVE_ALONE_PATTERN}(?:\\s*,\\s*${LEAVE_ALONE_PATTERN})*)?\\s*$`);
    return z.union([
      z.array(z.string().check(z.regex(new RegExp(`^${LEAVE_ALONE_PATTERN}$`)))),
      z.string().check(z.regex(list)),
    ]);
  },
};

/** The policies that pods may choose by annotation: names, `all`, or `off` for none of them. */
export const podPolicies: ValueType<readonly PolicyName[]> = {
  placeholder: 'policies',
  parse: (text) => {
    if (text === 'off') return accept([]);
    if (text === 'all') return accept(POLICY_NAMES);
    const names = text.split(',').map((name) => name.trim());
    const unknown = names.find((name) => !POLICY_NAMES.some((known) => known === name));
    if (unknown === undefined) return accept(POLICY_NAMES.filter((known) => names.includes(known)));
    return reject(
      `names ${unknown === '' ? 'nothing' : excerpt(unknown)}, which is no policy`,
      `choose from ${POLICY_NAMES.join(', ')}, or write all or off`,
    );
  },
  inFile: (z) => {
    const name = `(?:${POLICY_NAMES.join('|')})`;
    return z.union([
      z.enum(['all', 'off']),
      z.array(z.enum(POLICY_NAMES)).check(z.minLength(1)),
      z.string().check(z.regex(new RegExp(`^\\s*${name}\\s*(?:,\\s*${name}\\s*)*$`))),
    ]);
  },
};
