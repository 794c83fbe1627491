import { EventEmitter } from 'node:events';

/** The services whose health can be asked for; the empty name is the server as a whole. */
export const HEALTH_SERVICES = ['', 'cpusetd.v1.CpuManager', 'nri', 'cri', 'kube'] as const;

export type HealthService = (typeof HEALTH_SERVICES)[number];
export type ServingStatus = 'SERVING' | 'NOT_SERVING';

/** The health of each service, and its watchers. Every service is NOT_SERVING until it is set. */
export class HealthState {
  private readonly statusByService = new Map<string, ServingStatus>(
    HEALTH_SERVICES.map((service) => [service, 'NOT_SERVING']),
  );
  private readonly changes = new EventEmitter().setMaxListeners(0);

  /** Undefined for a service that does not exist. */
  get(service: string): ServingStatus | undefined {
    return this.statusByService.get(service);
  }

  /** Calls the listeners when it differs from before. */
  set(service: HealthService, status: ServingStatus): void {
    if (this.statusByService.get(service) === status) return;
    this.statusByService.set(service, status);
    this.changes.emit(`service:${service}`, status);
  }

  /** Sets every service to NOT_SERVING: the first step of a shutdown. */
  setAllNotServing(): void {
    for (const service of HEALTH_SERVICES) this.set(service, 'NOT_SERVING');
  }

  /** Calls the listener at every change of the service until the returned function is called. */
  onChange(service: string, listener: (status: ServingStatus) => void): () => void {
    const event = `service:${service}`;
    this.changes.on(event, listener);
    return () => {
      this.changes.off(event, listener);
    };
  }
}
