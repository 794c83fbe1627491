import type { Channel } from '../../../src/cri/client';
import { patienceMs } from '../../support/wait-until';

/**
 * The deadline of all waits inside a machine. The script that starts the claims gives it: sixty times what the boot
 * took, since emulation on a busy host is slow, and at least eight minutes. So it finds what hangs, and a slow machine
 * is not wrong.
 */
export const guestPatienceMs = patienceMs;

/** Interval of questions that need a process or a call: each takes CPU time from the code under test. */
export const askEveryMs = 200;

/** A channel that waits for its socket, as the kubelet does: the socket may be away for a moment. */
export function withPatience(channel: Channel): Channel {
  const patient = { timeoutMs: 2 * guestPatienceMs, waitForReady: true };
  return {
    call: (method, request, options) => channel.call(method, request, { ...patient, ...options }),
    close: () => channel.close(),
  };
}
