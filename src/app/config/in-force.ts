import { nameOf, OPTION_KEYS, OPTIONS } from './options';
import { describePlace, type Setting } from './setting';

/** The options that the daemon runs with, for the log: names without dashes. */
export interface OptionsInForce {
  /** Texts as a user would write them, defaults included; options that have no value are left out. */
  readonly options: Readonly<Record<string, string>>;
  /** The places where options were set, of those that were set at all. */
  readonly setAt: Readonly<Record<string, string>>;
}

/** No option holds a secret: those of the API server are in the files that `kubeconfig` names. */
export function describeInForce(chosen: ReadonlyMap<string, Setting>): OptionsInForce {
  const options: Record<string, string> = {};
  const setAt: Record<string, string> = {};
  for (const key of OPTION_KEYS) {
    const name = nameOf(key);
    const setting = chosen.get(name);
    const text = setting?.text ?? OPTIONS[key].default;
    if (text !== undefined && text !== '') options[name] = text;
    if (setting) setAt[name] = describePlace(setting);
  }
  return { options, setAt };
}
