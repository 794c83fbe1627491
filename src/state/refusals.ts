import { isPolicyName } from '../core/model/policies';
import { isRefusalCode, keyOfRefusal, type FreeInZone, type Refusal } from '../core/model/refusal';
import { decodeVersioned, type Decoded } from './durable-note';
import { Fields, readEntry, ShapeError } from './fields';

const VERSION = 1;
/** Enough for all refusals that are kept, with texts of the greatest length. */
export const MAX_REFUSALS_BYTES = 4 * 1024 * 1024;

/** The document as text, one refusal a line. */
export function encodeRefusals(refusals: readonly Refusal[]): string {
  const lines = refusals.map((refusal) => JSON.stringify(refusal));
  return `{"version":${VERSION},"refusals":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

/**
 * Reads what `encodeRefusals` wrote. Never throws, whatever the text. No promise depends on it: an entry that can't be
 * read is left out, and so is a second one of the same container.
 */
export function decodeRefusals(text: string): Decoded<readonly Refusal[]> {
  return decodeVersioned(text, VERSION, (document) => {
    const byKey = new Map(
      document.list('refusals').flatMap((entry) => {
        const refusal = readEntry(entry, toRefusal);
        return refusal ? [[keyOfRefusal(refusal), refusal] as const] : [];
      }),
    );
    return [...byKey.values()];
  });
}

function toRefusal(fields: Fields): Refusal {
  const [asked, code, policy] = [fields.text('asked'), fields.text('code'), fields.text('policy')];
  if (asked !== 'creation' && asked !== 'start' && asked !== 'change') throw new ShapeError('"asked" is none we know');
  if (!isRefusalCode(code)) throw new ShapeError('"code" is none we know');
  if (!isPolicyName(policy)) throw new ShapeError('"policy" is none we know');
  return {
    podUid: fields.text('podUid'),
    podNamespace: fields.text('podNamespace'),
    podName: fields.text('podName'),
    containerName: fields.text('containerName'),
    asked,
    requested: wholeOf(fields, 'requested'),
    ...(fields.has('podCount') && { podCount: wholeOf(fields, 'podCount') }),
    ...(fields.has('memoryBytes') && { memoryBytes: fields.count('memoryBytes') }),
    ...(fields.has('isBound') && fields.flag('isBound') && { isBound: true as const }),
    policy,
    ...(fields.has('chosenBy') && { chosenBy: fields.text('chosenBy') }),
    code,
    because: fields.text('because'),
    zones: fields.list('zones').map((zone) => toZone(new Fields(zone, 'the zone'))),
    firstAt: timeOf(fields, 'firstAt'),
    lastAt: timeOf(fields, 'lastAt'),
    times: wholeOf(fields, 'times'),
  };
}

function toZone(fields: Fields): FreeInZone {
  return {
    node: wholeOf(fields, 'node'),
    allocatable: wholeOf(fields, 'allocatable'),
    free: wholeOf(fields, 'free'),
  };
}

/** A count that fits into the 32 unsigned bits of the protobuf message. */
function wholeOf(fields: Fields, name: string): number {
  const count = fields.count(name);
  if (!Number.isInteger(count) || count >= 2 ** 32) throw new ShapeError(`"${name}" is not a count`);
  return count;
}

function timeOf(fields: Fields, name: string): string {
  const time = fields.text(name);
  const parsed = Date.parse(time);
  if (Number.isNaN(parsed)) throw new ShapeError(`"${name}" is not a time`);
  return new Date(parsed).toISOString();
}
