/** A comment opens with its subject or its verb. These words open a clause that says neither. */
const RELATIVE_OPENER = /^\s*(?:\/\*\*?|\/\/)\s*(?:What|Whether|Who|How|Where|Why)\b/;

/**
 * Returns one line for each comment of a source that opens with such a word. A line of `//` below another goes on with
 * that one.
 */
export function findRelativeOpeners(path: string, text: string): string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => {
    const before = lines[i - 1]?.trim() ?? '';
    const goesOn = before.startsWith('//') && line.trim().startsWith('//');
    const opener = before === '/**' ? line.replace(/^\s*\*/, '/**') : line;
    return !goesOn && RELATIVE_OPENER.test(opener) ? [`${path}:${i + 1}: ${line.trim().slice(0, 80)}`] : [];
  });
}

/** Maximum columns of a comment: those of the code. */
const MOST_COLUMNS = 120;

/**
 * Returns one line for each line of a comment that is wider than the code. An address and a directive may be as long as
 * they are.
 */
export function findWideComments(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, i) => {
    const isWide = line.length > MOST_COLUMNS && /^\s*(?:\/\*|\/\/|\* )/.test(line) && !/\w+:\/\/|eslint-/.test(line);
    return isWide ? [`${path}:${i + 1}: ${line.length} columns`] : [];
  });
}
