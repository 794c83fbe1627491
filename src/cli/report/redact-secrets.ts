export const LEFT_OUT = 'left-out';

/** The ends of names of secrets; the short ones only as words of their own. */
const SECRET_NAME =
  '(?:tokens?|passwords?|passwd|passphrases?|secrets?(?:[-_]?ids?)?|credentials?|(?:api|access|private|signing|secret|encryption)[-_]?keys?' +
  '|key[-_]data|sess(?:ion)?[-_]?ids?|(?<![a-z0-9])(?:pass|pwd|auth))';

/** A list or an object, also over several lines; one without an end is left out to the end of its line. */
const MANY = '\\[[^\\]]{0,2000}\\]|\\{[^}]{0,2000}\\}|[\\[{][^\\n]*';

/**
 * A value of one word, or in quotes; those may be escaped, as in JSON within JSON. What was left out already is none.
 */
const VALUE = `(?!\\\\*["']?${LEFT_OUT})(?:(\\\\*["'])(?:(?!\\2)[^\\n])+|${MANY}|[^\\s,;"'\\\\}\\]]+)`;

/** The begin of a line, which may be one of a text within JSON, and its indentation. */
const START = '(^|\\\\{1,8}n)([ \\t]*)(?![ \\t])';
/** The lines that are further in, or as far in and items of a list. */
const linesBelow = (further: string): string =>
  `(?=(\\r?\\n|\\\\{1,8}n))(?:\\4(?:\\2${further}(?:(?!\\4)[^\\n])+|[ \\t]*(?=\\4)))+`;
/** `token: |` and the lines of the text. */
const BLOCK_TEXT = new RegExp(
  `${START}((?:(?!\\\\n)[^\\n])*?${SECRET_NAME}["']?[ \\t]*:[ \\t]*)[|>][-+\\d]{0,2}[ \\t]*(?:#(?:(?!\\\\n)[^\\n])*)?${linesBelow('[ \\t]+')}`,
  'gim',
);
/** `passwords:` and the lines of what it has. */
const BLOCK = new RegExp(
  `${START}((?:- +)*["']?[\\w.-]{0,60}?${SECRET_NAME}["']?[ \\t]*:)[ \\t]*${linesBelow('(?:[ \\t]+|- )')}`,
  'gim',
);

/** `token=x`, `"password": "x"`, `X-Api-Key: x`; not `token-file=x`. */
const ASSIGNED = new RegExp(`(${SECRET_NAME}(?:\\\\*["'])?\\s*(?:=>|[=:])\\s*)${VALUE}`, 'gi');
/** `--token x`. */
const OF_FLAG = new RegExp(`(--[a-z-]{0,40}${SECRET_NAME}\\s+)(?!-)${VALUE}`, 'gi');
/** `the secret x1y2z3`: in a sentence only what is no word of it. */
const IN_TEXT =
  /\b(token|password|passwd|passphrase|secret)(\s+)(?=[^\s,;/"']{0,200}\d)(?=[^\s,;/"']{0,200}[a-z])[^\s,;/"']{6,}(?![^\s,;"'])/gi;
/** Headers whose whole line is secret. */
const HEADER = /\b((?:set-)?cookie|(?:proxy-)?authorization)(\s*[=:]\s*)(?!\s*left-out)[^\r\n]+/gi;
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi;
const URL_USER = /:\/\/[^\s/?#]*@/g;

/** Texts that are secrets by their own shape: keys, and the tokens of common services. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]+-----[^]*?(?:-----END [A-Z0-9 ]+-----|$)/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+)*/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|dckr_pat_[\w-]{20,})/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\bAIza[\w-]{35}/g,
  /\bhvs\.[\w-]{20,}/g,
  /\bsk[-_][\w-]{20,}/g,
  // Of kubeadm.
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
];

/** Secrets are in no file of a report. This is for those that someone wrote where none belongs. */
export function redactSecrets(text: string): string {
  const byShape = SHAPES.reduce((left, shape) => left.replaceAll(shape, LEFT_OUT), text);
  return byShape
    .replaceAll(BLOCK_TEXT, `$1$2$3${LEFT_OUT}`)
    .replaceAll(BLOCK, `$1$2$3 ${LEFT_OUT}`)
    .replaceAll(HEADER, `$1$2${LEFT_OUT}`)
    .replaceAll(SCHEME, `$1 ${LEFT_OUT}`)
    .replaceAll(ASSIGNED, `$1$2${LEFT_OUT}`)
    .replaceAll(OF_FLAG, `$1$2${LEFT_OUT}`)
    .replaceAll(IN_TEXT, `$1$2${LEFT_OUT}`)
    .replaceAll(URL_USER, `://${LEFT_OUT}@`);
}
