import { nameOf, OPTION_KEYS, OPTIONS } from '../../app/config';

/** Options that decide placements. The others decide nothing in a replay, and their files and sockets may not exist. */
const PLACEMENT =
  /^(?:cpu-manager-|pod-policies|(?:pod-)?leave-alone|left-alone-start|reserved-|min-shared-|on-insufficient-|lift-|memory-nodes|topology-manager-)/;

/** True for the name of an option, without dashes, that decides placements. */
export function decidesPlacement(name: string): boolean {
  return PLACEMENT.test(name);
}

/** The names of those recorded options that decide placements and that this version can't read. */
export function listUnreadable(options: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(options)
    .filter(([name, text]) => {
      const key = OPTION_KEYS.find((each) => nameOf(each) === name);
      return decidesPlacement(name) && (key === undefined || !OPTIONS[key].type.parse(text).ok);
    })
    .map(([name]) => name);
}
