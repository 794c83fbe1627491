import { showText } from '../../../core/show-text';

/** A text that is HTML. Only `html` makes one of other texts, which it escapes. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | readonly Html[] | string | number | undefined | false;

/**
 * HTML from a template. Texts in it are escaped, and characters that a browser does not simply draw (bidi, zero-width,
 * controls) are shown as escapes: names and reasons come from pods.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  let text = parts[0]!;
  for (let i = 0; i < values.length; i++) text += write(values[i]) + parts[i + 1]!;
  return new Html(text);
}

function write(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return escapeHtml(showText(String(part), MAX_TEXT));
}

const MAX_TEXT = 2_048;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (found) => ESCAPES[found]!) : text;
}

/** A foreign text as a part of the id of an element. Other texts give other ids. */
export function toId(text: string): string {
  return text.replace(/[^A-Za-z0-9-]/g, (found) => `_${found.charCodeAt(0).toString(16)}_`);
}
