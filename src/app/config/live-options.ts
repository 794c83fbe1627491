import { checkTogether } from './check-together';
import { describeInForce, type OptionsInForce } from './in-force';
import type { Loaded } from './load-config';
import { nameOf, OPTION_KEYS, OPTIONS, restartReason, type Config, type OptionKey } from './options';
import type { Setting } from './setting';

/** An option whose configured value is not in force. */
export interface PendingOption {
  /** Its name without dashes. */
  readonly option: string;
  /** As a user writes it; empty = not set. */
  readonly inForce: string;
  readonly configured: string;
  /** The reason why it has to wait for the next start. */
  readonly because: string;
}

/** The options that would be in force if a running daemon took over a configuration. */
export interface Proposal {
  readonly config: Config;
  readonly chosen: ReadonlyMap<string, Setting>;
  /** The options that change now. */
  readonly changes: readonly { readonly option: string; readonly from: string; readonly to: string }[];
  /** Those that wait for the next start. */
  readonly pending: readonly PendingOption[];
}

type Options = Pick<Loaded, 'config' | 'chosen'>;

/**
 * The options in force with those of `loaded` that can be changed live. Where these fit only together with one that
 * needs a restart, all of them wait for it. Pure.
 */
export function propose(inForce: Options, loaded: Options): Proposal {
  const differing = OPTION_KEYS.filter((key) => textOf(key, inForce) !== textOf(key, loaded));
  const live = differing.filter((key) => restartReason(key) === undefined);
  const waiting = differing.filter((key) => !live.includes(key));
  const merged = merge(inForce, loaded, live);
  const describe = (key: OptionKey, because: string): PendingOption => ({
    option: nameOf(key),
    inForce: textOf(key, inForce),
    configured: textOf(key, loaded),
    because,
  });
  const pending = waiting.map((key) => describe(key, `${nameOf(key)} ${restartReason(key)!}`));
  const [problem] = checkTogether({ ...merged, rejected: new Set() });
  if (problem !== undefined && live.length > 0) {
    const because = `it fits only together with ${waiting.map(nameOf).join(', ')}, which needs a restart`;
    return { ...inForce, changes: [], pending: [...live.map((key) => describe(key, because)), ...pending] };
  }
  const changes = live.map((key) => ({ option: nameOf(key), from: textOf(key, inForce), to: textOf(key, loaded) }));
  return { ...merged, changes, pending };
}

function merge(inForce: Options, loaded: Options, live: readonly OptionKey[]): Options {
  const values: Partial<Record<OptionKey, unknown>> = { ...inForce.config };
  const chosen = new Map(inForce.chosen);
  // The place of an option may change although its value does not: a message about it names the present one.
  for (const key of OPTION_KEYS) {
    if (!live.includes(key) && textOf(key, inForce) !== textOf(key, loaded)) continue;
    const name = nameOf(key);
    const setting = loaded.chosen.get(name);
    values[key] = loaded.config[key];
    if (setting) chosen.set(name, setting);
    else chosen.delete(name);
  }
  return { config: values as Config, chosen };
}

function textOf(key: OptionKey, { chosen }: Pick<Options, 'chosen'>): string {
  return chosen.get(nameOf(key))?.text ?? OPTIONS[key].default ?? '';
}

/** The options that the daemon runs with, as they are now. */
export class LiveOptions {
  private current: Options;
  private waiting: readonly PendingOption[] = [];

  constructor(started: Options) {
    this.current = started;
  }

  /** Without the kubelet's reservation. */
  get config(): Config {
    return this.current.config;
  }

  get inForce(): OptionsInForce {
    return describeInForce(this.current.chosen);
  }

  /** Options that wait for the next start. */
  get pending(): readonly PendingOption[] {
    return this.waiting;
  }

  propose(loaded: Options): Proposal {
    return propose(this.current, loaded);
  }

  /**
   * Switches the actions of QoS rules off and changes nothing else, which fits all other options. Undefined when they
   * are off.
   */
  proposeOff(setting: Setting): Proposal | undefined {
    const { config, chosen } = this.current;
    if (config.qosActions === 'off') return undefined;
    return {
      config: { ...config, qosActions: 'off' },
      chosen: new Map(chosen).set(setting.name, setting),
      changes: [{ option: setting.name, from: config.qosActions, to: 'off' }],
      pending: this.waiting,
    };
  }

  take({ config, chosen, pending }: Proposal): void {
    this.current = { config, chosen };
    this.waiting = pending;
  }
}
