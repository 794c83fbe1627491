import type { Logger } from 'pino';

import { LOG_FORMAT, LOG_LEVEL } from '../../option-types/log-types';
import { socketPath } from '../../option-types/system-types';
import { accept, matching, reject, type ValueType } from '../../option-types/value-type';
import { showText } from '../../core/show-text';
import { systemCodeOf } from '../../core/system-errors';
import type { TimeZone } from '../../scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../scheduling/policy/policy';
import { complain, UsageError, type CliContext, type ExitStatus } from '../context';
import type { ValuesOf } from './typed-options';

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

/**
 * The zone of the flag, else of the variable `TZ`, else that of crane-scheduler. An empty TZ counts as none, as there.
 * Throws UsageError.
 */
async function readZone(flag: string | undefined, variable: string | undefined): Promise<TimeZone> {
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

/** The parts that both programs need. */
export interface ProgramParts {
  readonly policy: SchedulerPolicy;
  readonly zone: TimeZone;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Runs a program with its policy, zone and log, and serves its profiles. Exit 1, with the problems on standard error,
 * when the policy can't be used. Throws UsageError for a wrong zone, and for an address that can't be listened on:
 * `listening` names it, with the remedy.
 */
export async function runProgram(
  flags: ValuesOf<typeof COMMON_FLAGS> & { readonly 'policy-config-path': string },
  { env, stderr, signal, openLog }: CliContext,
  listening: { readonly address: string; readonly remedy: string },
  run: (parts: ProgramParts) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const zone = await readZone(flags['time-zone'], env['TZ']);
  const { readPolicyFile } = await import('../../scheduling/policy/read-policy-file');
  const read = await readPolicyFile(flags['policy-config-path']);
  if (!read.ok) {
    complain(stderr, ...read.problems);
    return 1;
  }
  const log = await openLog({ logLevel: flags['log-level'], logFormat: flags['log-format'] });
  for (const remark of read.remarks) log.warn({ remark }, 'a remark on the policy file');
  const profiles = await openProfileSocket(flags['profile-socket'], log);
  try {
    return await run({ policy: read.policy, zone, log, signal });
  } catch (error) {
    const code = systemCodeOf(error) ?? '';
    if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) throw error;
    throw new UsageError(`${listening.address}: can't be listened on (${code}); ${listening.remedy}`);
  } finally {
    await profiles?.close();
  }
}

/**
 * Serves `cpusetd profile` on a socket that only our user can open; nothing without a path. Throws CpusetdError when it
 * can't be opened.
 */
async function openProfileSocket(
  path: string | undefined,
  log: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
  if (path === undefined) return undefined;
  const { listenAt } = await import('../../admin/grpc/listener');
  const { startProfileServer } = await import('../../admin/server/admin-server');
  const listener = await listenAt(path, (err) => log.warn({ err }, 'a connection was not accepted'));
  log.info({ path }, 'profiles of this process can be taken');
  return startProfileServer({ listener, log });
}
