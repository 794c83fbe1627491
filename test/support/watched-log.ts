import { pino, type Logger } from 'pino';

/** A log, and its lines about a container or a pod that do not name it by namespace and name. */
export function watchLog(): { readonly log: Logger; readonly unnamed: string[] } {
  const unnamed: string[] = [];
  const write = (line: string): void => {
    if (!isNamed(JSON.parse(line) as Record<string, unknown>)) unnamed.push(`a line without names: ${line.trim()}`);
  };
  return { log: pino({ level: 'debug', base: null, timestamp: false }, { write }), unnamed };
}

function isNamed({ podUid, pod, container, containerId }: Record<string, unknown>): boolean {
  if (containerId !== undefined && (container === undefined || podUid === undefined)) return false;
  const isAboutPod = containerId !== undefined || container !== undefined || podUid !== undefined;
  return !isAboutPod || (typeof pod === 'string' && /^[^/]+\/[^/]+$/.test(pod));
}
