/** Longest foreign text that is shown whole, in UTF-16 units. */
export const LONGEST_SHOWN = 1_024;

/**
 * Characters that a terminal, a log viewer or a browser does not simply draw one after the other: controls (C0, DEL,
 * C1), everything of format (bidi, zero-width, tags), line and paragraph separators, spaces other than the common one,
 * marks that go on top of their neighbours, what is drawn as nothing, letters that run from right to left and so move
 * what stands beside them, lone surrogates, and what has no character yet. Everything else than a list of allowed
 * characters: what Unicode adds later is not allowed before it was reviewed.
 */
const UNSHOWABLE =
  /[^\p{L}\p{N}\p{P}\p{S} ]|[\p{Default_Ignorable_Code_Point}\u2800]|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ALL_UNSHOWABLE = new RegExp(UNSHOWABLE.source, 'gu');

/**
 * A foreign text (a name, a reason, the error of a peer) as one line for people: characters that could move the cursor,
 * hide or reorder text are shown as escapes (`\u001b`, `\u{e0001}`), and of a long text the beginning, with how much is
 * left out.
 *
 * Every text that comes from outside passes here before it goes to a terminal, a log, an event or a status message. The
 * result is `max` units long at most. A shown text is not changed by being shown again.
 */
export function showText(text: string, max = LONGEST_SHOWN): string {
  if (text.length <= max && !UNSHOWABLE.test(text)) return text;
  const looked = text.length <= max ? text : cut(text, max);
  const shown = looked.replace(ALL_UNSHOWABLE, escape);
  if (shown.length <= max && looked === text) return shown;
  const note = `… (${text.length} characters)`;
  return `${cutShown(shown, Math.max(0, max - note.length))}${note}`.slice(0, max);
}

/** The same for a text of several lines, as of a stack: each is shown for itself, and the first of very many. */
export function showLines(text: string, { max = LONGEST_SHOWN, maxLines = 100 } = {}): string {
  const lines = cut(text, max * maxLines).split('\n', maxLines);
  return lines.map((line) => showText(line, max)).join('\n');
}

/** The text as it is when it is not too long, else its beginning with how much is left out. For what programs read. */
export function boundText(text: string, max = LONGEST_SHOWN): string {
  if (text.length <= max) return text;
  const note = `… (${text.length} characters)`;
  return `${cut(text, Math.max(0, max - note.length))}${note}`.slice(0, max);
}

/** Without halves of characters, which no encoding of Unicode can hold. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/**
 * JSON with the same characters as `\uXXXX`: the same data, and harmless where it is looked at. Line ends between
 * values stay.
 */
export function escapeJson(json: string): string {
  if (!UNSHOWABLE.test(json)) return json;
  return json.replace(ALL_UNSHOWABLE, (found) => (found === '\n' ? found : [...units(found)].map(hex).join('')));
}

/** Text has characters that are not simply drawn. */
export function isUnshowable(text: string): boolean {
  return UNSHOWABLE.test(text);
}

/** The same for a document of YAML whose strings with such characters are in double quotes. */
export function escapeYaml(yaml: string): string {
  return yaml.replace(ALL_UNSHOWABLE, (found) => {
    if (found === '\n') return found;
    const code = found.codePointAt(0)!;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : hex(code);
  });
}

function escape(found: string): string {
  const code = found.codePointAt(0)!;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : hex(code);
}

function* units(text: string): Iterable<number> {
  for (let i = 0; i < text.length; i++) yield text.charCodeAt(i);
}

function hex(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

/** Never between the halves of a character. */
function cut(text: string, length: number): string {
  const isHalf = length > 0 && length < text.length && /[\ud800-\udbff]/.test(text.charAt(length - 1));
  return text.slice(0, isHalf ? length - 1 : length);
}

/** Nor within an escape. */
function cutShown(shown: string, length: number): string {
  return cut(shown, length).replace(/\\(?:u(?:[0-9a-f]{0,3}|\{[0-9a-f]*))?$/, '');
}
