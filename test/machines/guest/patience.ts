import type { Channel } from '../../../src/cri/client';

/** How long anything may take inside a machine: emulation on a busy host is some twenty times slower than hardware. */
export const guestPatienceMs = 60_000;

/** The kubelet waits two minutes for a runtime, and so does its part here. */
export function withPatience(channel: Channel): Channel {
  return {
    call: (method, request, options) => channel.call(method, request, { timeoutMs: 2 * guestPatienceMs, ...options }),
    close: () => channel.close(),
  };
}
