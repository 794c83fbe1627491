import { nameOf, OPTIONS } from './options';
import type { Setting } from './setting';

const NAME = nameOf('qosActions');

/**
 * The setting that switches the actions of QoS rules off for this node, if there is one. It counts whatever else is
 * wrong, as long as its own line can be read. Of several lines for the option in one place one is enough: which of them
 * is meant is not known, and off does no harm.
 */
export function findSwitchOff(
  chosen: ReadonlyMap<string, Setting>,
  repeated: readonly Setting[] = [],
): Setting | undefined {
  const winner = chosen.get(NAME);
  const others = winner && winner.origin.kind !== 'file' ? [] : repeated.filter(({ name }) => name === NAME);
  return [...(winner ? [winner] : []), ...others.filter((other) => groupOf(other) === groupOf(winner))].find(isOff);
}

function isOff({ text }: Setting): boolean {
  const parsed = OPTIONS.qosActions.type.parse(text);
  return parsed.ok && parsed.value === 'off';
}

function groupOf(setting: Setting | undefined): string | undefined {
  return setting?.origin.kind === 'file' ? setting.origin.group : undefined;
}
