// Facts about a value that was thrown.

/**
 * The message of an error, or the text of any other value.
 * @param {unknown} error
 * @returns {string}
 */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * The code of an error of the system, such as ENOENT.
 * @param {unknown} error
 * @returns {unknown} undefined for an error without a code
 */
export const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);
