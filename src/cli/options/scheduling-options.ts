import { LOG_FORMAT, LOG_LEVEL } from '../../option-types/log-types';
import { socketPath } from '../../option-types/system-types';
import { accept, matching, reject, type ValueType } from '../../option-types/value-type';
import { showText } from '../../core/show-text';
import type { TimeZone } from '../../scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../scheduling/policy/policy';
import { complain, UsageError, type CliContext } from '../context';

/** The options that annotator and extender have in common. */
export const COMMON_FLAGS = {
  'time-zone': {
    type: matching(/^[\w+/-]{1,64}$/, 'zone', {
      problem: 'is not a time zone',
      remedy: 'write a name like Asia/Shanghai or UTC',
    }),
    description:
      "zone of the annotations' times; the same for annotator and scheduler (default: TZ, else Asia/Shanghai)",
  },
  'profile-socket': {
    type: socketPath,
    description: 'a unix socket for cpusetd profile --admin-socket, which only our user can open (default: none)',
  },
  'log-level': LOG_LEVEL,
  'log-format': LOG_FORMAT,
} as const;

const resources: ValueType<readonly string[]> = {
  placeholder: 'names',
  parse: (text) => {
    const names = text.split(',').map((name) => name.trim());
    const bad = names.find((name) => !/^[a-z0-9]([-a-z0-9./]{0,251}[a-z0-9])?$/.test(name));
    return bad === undefined
      ? accept(names)
      : reject('has a name that is no resource', 'write resources like cpu,memory');
  },
};

/** The option of the extender, and of kubectl's commands that answer as it does. */
export const TOPOLOGY_AWARE_RESOURCES = {
  type: resources,
  default: 'cpu',
  description: 'resources that NodeResourceTopologyMatch looks at in each zone',
} as const;

/** The zone of the flag, else of the variable `TZ`, else that of crane-scheduler. An empty TZ counts as none, as there. Throws UsageError. */
export async function readZone(flag: string | undefined, variable: string | undefined): Promise<TimeZone> {
  const { TimeZone } = await import('../../scheduling/load/time-zone');
  const text = flag ?? (variable || 'Asia/Shanghai');
  try {
    return TimeZone.of(text);
  } catch {
    const place = flag === undefined ? 'TZ' : '--time-zone';
    throw new UsageError(
      `${place}: ${showText(text)} is no time zone that is known here; write a name like Asia/Shanghai or UTC`,
    );
  }
}

/** The policy of the file and remarks on it; undefined, and its problems on standard error, when it can't be used. */
export async function readPolicy(
  path: string,
  { stderr }: Pick<CliContext, 'stderr'>,
): Promise<{ readonly policy: SchedulerPolicy; readonly remarks: readonly string[] } | undefined> {
  const { readPolicyFile } = await import('../../scheduling/policy/read-policy-file');
  const read = await readPolicyFile(path);
  if (read.ok) return read;
  complain(stderr, ...read.problems);
  return undefined;
}
