import { spawn } from 'node:child_process';
import { messageOf } from '../alarms/faults';

/** The part of the environment by which systemd talks with a service; see sd_notify(3) and sd_watchdog_enabled(3). */
export interface Systemd {
  /** `$NOTIFY_SOCKET`: there is one when systemd started us as a service of type notify. */
  readonly notifySocket: string;
  /** systemd restarts us when it has heard nothing for this time. Undefined: the unit has no WatchdogSec=. */
  readonly watchdogMs: number | undefined;
}

/** Undefined without systemd. A watchdog that is meant for another process is none. */
export function readSystemd(env: Readonly<NodeJS.ProcessEnv>, pid: number): Systemd | undefined {
  const { NOTIFY_SOCKET: notifySocket, WATCHDOG_USEC: usec = '', WATCHDOG_PID: watched } = env;
  if (!notifySocket) return undefined;
  const isOurs = /^[1-9]\d*$/.test(usec) && (watched === undefined || watched === String(pid));
  return { notifySocket, watchdogMs: isOurs ? Number(usec) / 1000 : undefined };
}

/** systemd-notify waits until systemd has taken the message: without a reader of the socket it would never end. */
const MAX_NOTIFY_MS = 10_000;

/** Called once: with the reason when systemd did not get the message. */
export type OnSent = (problem: string | undefined) => void;

/**
 * Sends fields of sd_notify(3). Node has no datagram sockets of the unix kind; systemd's own program has, and it is
 * where systemd is.
 */
export function sendToSystemd(notifySocket: string, fields: readonly string[], onSent: OnSent): void {
  try {
    const child = spawn('systemd-notify', fields, {
      env: { PATH: process.env['PATH'] ?? '', NOTIFY_SOCKET: notifySocket },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: MAX_NOTIFY_MS,
      killSignal: 'SIGKILL',
    });
    child.unref(); // our own end does not wait for it
    child.on('error', ({ message }) => {
      if (child.pid === undefined) onSent(message); // or it could not be killed, and its end is still to come
    });
    child.on('exit', (code, signal) => {
      const late = `systemd-notify: no end within ${MAX_NOTIFY_MS} ms`;
      onSent(code === 0 ? undefined : signal === null ? `systemd-notify: exit ${code}` : late);
    });
  } catch (error) {
    onSent(messageOf(error)); // as when there is no memory for a process
  }
}
