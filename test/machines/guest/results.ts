import { readdirSync, readFileSync, writeSync, openSync } from 'node:fs';
import type { ClaimOutcome } from '../claim';

/**
 * The messages of the machine to the host, as JSON lines on a virtio port of their own: the console also has lines of
 * the kernel.
 */
export type GuestEvent =
  | { readonly event: 'booted'; readonly kernel: string; readonly runtime: string; readonly seconds: number }
  | ({ readonly event: 'claim' } & ClaimOutcome)
  | { readonly event: 'end' };

/** @throws when the machine has no such port */
export function openResults(): (event: GuestEvent) => void {
  const ports = '/sys/class/virtio-ports';
  const port = readdirSync(ports).find((name) => readFileSync(`${ports}/${name}/name`, 'utf8').trim() === 'results');
  if (port === undefined) throw new Error('there is no port for results');
  const file = openSync(`/dev/${port}`, 'w');
  return (event) => void writeSync(file, `${JSON.stringify(event)}\n`);
}
