import type { DaemonFacts } from '../../src/app/status/show-node';

/** The facts of a daemon in mode nri that started at this time and has no connection yet. */
export function factsAt(at: string): DaemonFacts {
  const off = { state: 'off', since: at, reason: '' } as const;
  return {
    nodeName: 'n1',
    mode: 'nri',
    startedAt: at,
    version: '0',
    runtimeName: '',
    runtimeVersion: '',
    nri: off,
    cri: off,
    generation: 1,
    gap: undefined,
    alarms: [],
    pendingOptions: [],
  };
}
