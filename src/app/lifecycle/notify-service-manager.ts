import { spawn } from 'node:child_process';
import type { Logger } from 'pino';
import { messageOf } from '../alarms/faults';
import type { HealthService, HealthState } from '../../admin/health-state';

export interface ServiceManagerParts {
  /** `$NOTIFY_SOCKET`: there is one when systemd started us as a service of type notify. */
  readonly notifySocket: string | undefined;
  readonly health: Pick<HealthState, 'get' | 'onChange'>;
  /** The health service that serves while containers are pinned. */
  readonly service: HealthService;
  readonly log: Logger;
  /** Ends the waiting: systemd gets no message after that. */
  readonly signal: AbortSignal;
}

/** Maximum time systemd waits for us before it starts the kubelet: a node without its runtime has to come up too. */
const PATIENCE_MS = 10_000;
/** systemd-notify waits until systemd has taken the message: without a reader of the socket it would never end. */
const MAX_NOTIFY_MS = 10_000;

/**
 * Reports to systemd that the start is complete (READY=1, sd_notify(3)): when containers are pinned, or when the runtime could not be
 * reached for `PATIENCE_MS`. systemd then starts the units that are ordered after us, such as the kubelet.
 */
export function notifyServiceManager({ notifySocket, health, service, log, signal }: ServiceManagerParts): void {
  if (notifySocket === undefined) return;
  const notify = (status: string): void => {
    stop();
    send(notifySocket, status, log);
  };
  const timer = setTimeout(() => notify('not connected to the runtime: containers are not pinned'), PATIENCE_MS);
  timer.unref();
  const stopListening = health.onChange(service, (now) => {
    if (now === 'SERVING') notify('containers are pinned');
  });
  const stop = (): void => {
    clearTimeout(timer);
    stopListening();
    signal.removeEventListener('abort', stop);
  };
  signal.addEventListener('abort', stop);
  if (health.get(service) === 'SERVING') notify('containers are pinned');
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
