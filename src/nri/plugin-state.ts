import type { RuntimeInfo } from './messages/protocol';

/**
 * How far the session with the runtime has come.
 *
 * Only `synchronized` means that containers are created with our CPUs: a runtime passes on no event before it.
 */
export type PluginPhase = 'disconnected' | 'connecting' | 'registered' | 'synchronized';

/** What health shows of the session. */
export interface PluginState {
  readonly phase: PluginPhase;
  /** When this began, in ms since 1970; while one attempt follows another, since the connection was last up. */
  readonly sinceMs: number;
  /** Why, written for the operator. */
  readonly reason: string;
  /** The runtime that is, or was last, connected. */
  readonly runtime?: RuntimeInfo;
}

/** The state after a step; the same object when nothing has changed. */
export function nextState(state: PluginState, step: Omit<PluginState, 'sinceMs'>, nowMs: number): PluginState {
  if (state.phase === step.phase && state.reason === step.reason && state.runtime === step.runtime) return state;
  const sameOutage = isDown(state.phase) && isDown(step.phase);
  return { ...step, sinceMs: sameOutage || state.phase === step.phase ? state.sinceMs : nowMs };
}

function isDown(phase: PluginPhase): boolean {
  return phase === 'disconnected' || phase === 'connecting';
}
