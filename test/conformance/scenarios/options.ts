import {
  checkOptionsAreUsed,
  checkStaticPolicyOptions,
  parseStaticPolicyOptions,
} from '../../../src/core/options/static-policy-options';
import { optionNames } from '../../../src/core/model/settings';
import type { Runner } from './scenario';

export const runOptions: Runner = ({ given, expect: want }, machines) => {
  const topology = machines.get(given.topology ?? 'single-8ht')!;
  const values = new Map<string, string>(Object.entries(given.options ?? {}));
  const unused = checkOptionsAreUsed([given.policy ?? 'static'], values);
  const parsed = unused ? ({ ok: false, problem: unused } as const) : parseStaticPolicyOptions(values);
  const checked = parsed.ok
    ? checkStaticPolicyOptions(parsed.options, { topology, topologyManagerPolicy: given.topologyPolicy ?? 'none' })
    : parsed;
  if (want.error) expect(checked).toMatchObject({ ok: false, problem: { kind: want.error } });
  else {
    expect(checked.ok).toBe(true);
    if (checked.ok && want.enabled) expect(optionNames(checked.options)).toEqual(want.enabled);
  }
};
