export const LEFT_OUT = 'left-out';

/** The ends of names of secrets; the short ones only as words of their own. */
const SECRET_NAME =
  '(?:token|password|passwd|passphrase|secret|credentials?|(?:api|access|private|signing)[-_]?key|key[-_]data|(?<![a-z0-9])(?:pass|pwd))';

/** A value of one word, or in quotes; those may be escaped, as in JSON within JSON. What was left out already is none. */
const VALUE = `(?!\\\\*["']?${LEFT_OUT})(?:(\\\\*["'])(?:(?!\\2)[^\\n])+|[^\\s,;"'\\\\}\\]]+)`;

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
    .replaceAll(HEADER, `$1$2${LEFT_OUT}`)
    .replaceAll(SCHEME, `$1 ${LEFT_OUT}`)
    .replaceAll(ASSIGNED, `$1$2${LEFT_OUT}`)
    .replaceAll(OF_FLAG, `$1$2${LEFT_OUT}`)
    .replaceAll(IN_TEXT, `$1$2${LEFT_OUT}`)
    .replaceAll(URL_USER, `://${LEFT_OUT}@`);
}
