import { Parser, parseDocument, type CST, type Document, type LineCounter } from 'yaml';

/**
 * No file of options is nested deeper. The library goes down by calls, and some hundred levels more end the process.
 */
const MAX_DEPTH = 32;

export type ParsedYaml =
  { readonly ok: true; readonly document: Document.Parsed } | { readonly ok: false; readonly because: string };

/**
 * Reads one YAML or JSON document that others wrote. What is wrong in it stands in `document.errors`; a key that is
 * there twice is not, since the library would compare each with each. The text must be of bounded length: an error
 * costs as much as ten lines.
 */
export function parseYaml(text: string, lineCounter?: LineCounter): ParsedYaml {
  for (const token of new Parser().parse(text)) {
    if (isTooDeep(token)) return { ok: false, because: `is nested deeper than ${MAX_DEPTH} levels` };
  }
  const options = { ...(lineCounter && { lineCounter }), prettyErrors: false, uniqueKeys: false };
  const document = parseDocument(text, options);
  // The library quotes the text behind a colon. It may be of any file, and its faults are shown in logs and alarms.
  for (const error of document.errors) error.message = error.message.split(/: |["`]/)[0]!;
  return { ok: true, document };
}

/**
 * The first document of a text as a value; `hasMore`: other documents follow it. Throws Error that says what is wrong.
 */
export function readFirstDocument(text: string): { readonly value: unknown; readonly hasMore: boolean } {
  const parsed = parseYaml(text);
  if (!parsed.ok) throw new Error(parsed.because);
  const { errors } = parsed.document;
  const wrong = errors.find(({ code }) => code !== 'MULTIPLE_DOCS');
  if (wrong) throw wrong;
  return { value: parsed.document.toJS(), hasMore: errors.length > 0 }; // throws for aliases that grow without end
}

/** Goes down level by level, without calls. */
function isTooDeep(token: CST.Token): boolean {
  let level: CST.Token[] = [token];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) => listParts(each));
  }
  return false;
}

function listParts(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : [];
  if (!('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((part) => part !== undefined && part !== null));
}
