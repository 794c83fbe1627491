import { spawn } from 'node:child_process';
import type { Logger } from 'pino';
import { messageOf } from '../alarms/faults';
import type { HealthService, HealthState } from '../../admin/health-state';

export interface ServiceManagerParts {
  /** `$NOTIFY_SOCKET`: there is one when systemd started us as a service of type notify. */
  readonly notifySocket: string | undefined;
  readonly health: Pick<HealthState, 'get' | 'onChange'>;
  /** It serves from the moment on at which containers are pinned. */
  readonly service: HealthService;
  readonly log: Logger;
  /** Ends the waiting: nothing is said any more. */
  readonly signal: AbortSignal;
}

/** systemd waits so long for us, and starts the kubelet afterwards: a node without its runtime has to come up too. */
const PATIENCE_MS = 10_000;
/** Its program waits until systemd has taken the message: a socket that nobody reads would keep it for ever. */
const MAX_NOTIFY_MS = 10_000;

/**
 * Tells systemd that the start is complete (READY=1, sd_notify(3)): when containers are pinned, or when the runtime could not be
 * reached for so long that nobody should wait any more. What is ordered after us, the kubelet, then starts.
 */
export function notifyServiceManager({ notifySocket, health, service, log, signal }: ServiceManagerParts): void {
  if (notifySocket === undefined) return;
  const tell = (status: string): void => {
    stop();
    send(notifySocket, status, log);
  };
  const timer = setTimeout(() => tell('not connected to the runtime: containers are not pinned'), PATIENCE_MS);
  timer.unref();
  const stopListening = health.onChange(service, (now) => {
    if (now === 'SERVING') tell('containers are pinned');
  });
  const stop = (): void => {
    clearTimeout(timer);
    stopListening();
    signal.removeEventListener('abort', stop);
  };
  signal.addEventListener('abort', stop);
  if (health.get(service) === 'SERVING') tell('containers are pinned');
}

/** Node has no datagram sockets of the unix kind; systemd's own program has, and it is where systemd is. */
function send(notifySocket: string, status: string, log: Logger): void {
  const fail = (because: string): void =>
    log.error({ because }, 'systemd could not be told that the start is complete');
  try {
    const child = spawn('systemd-notify', ['--ready', `--status=${status}`], {
      env: { PATH: process.env['PATH'] ?? '', NOTIFY_SOCKET: notifySocket },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: MAX_NOTIFY_MS,
      killSignal: 'SIGKILL',
    });
    child.unref(); // our own end does not wait for it
    child.on('error', (error) => fail(error.message));
    child.on('exit', (code, signal) => {
      if (code === 0) log.debug({ status }, 'told systemd');
      else fail(signal === null ? `systemd-notify: exit ${code}` : `systemd-notify: no end within ${MAX_NOTIFY_MS} ms`);
    });
  } catch (error) {
    fail(messageOf(error)); // as when there is no memory for a process
  }
}
