import type { Logger } from 'pino';
import type { HealthService, HealthState } from '../../admin/health-state';
import { sendToSystemd } from './systemd';

export interface ServiceManagerParts {
  readonly notifySocket: string;
  readonly health: Pick<HealthState, 'get' | 'onChange'>;
  /** The health service that serves while containers are pinned. */
  readonly service: HealthService;
  readonly log: Logger;
  /** Ends the waiting: systemd gets no message after that. */
  readonly signal: AbortSignal;
}

/** Maximum time systemd waits for us before it starts the kubelet: a node without its runtime has to come up too. */
const PATIENCE_MS = 10_000;

/**
 * Reports to systemd that the start is complete (READY=1, sd_notify(3)): when containers are pinned, or when the
 * runtime could not be reached for `PATIENCE_MS`. systemd then starts the units that are ordered after us, such as the
 * kubelet.
 */
export function notifyServiceManager({ notifySocket, health, service, log, signal }: ServiceManagerParts): void {
  const notify = (status: string): void => {
    stop();
    sendToSystemd(notifySocket, ['READY=1', `STATUS=${status}`], (because) => {
      if (because === undefined) log.debug({ status }, 'sent to systemd');
      else log.error({ because }, 'systemd could not be notified that the start is complete');
    });
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
