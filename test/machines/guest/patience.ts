import type { Channel } from '../../../src/cri/client';
import { patienceMs } from '../../support/wait-until';

/** How long anything may take inside a machine: emulation on a busy host is some twenty times slower than hardware. */
export const guestPatienceMs = patienceMs;

/** How often something is asked that costs a process or a call: each takes CPU time from what is waited for. */
export const askEveryMs = 200;

/** The kubelet waits for a runtime and tries again, and so does its part here: the socket may be away for a moment. */
export function withPatience(channel: Channel): Channel {
  const patient = { timeoutMs: 2 * guestPatienceMs, waitForReady: true };
  return {
    call: (method, request, options) => channel.call(method, request, { ...patient, ...options }),
    close: () => channel.close(),
  };
}
