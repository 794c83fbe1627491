/** The structure of a config file as a JSON Schema. What makes it is loaded only then. */
export async function describeFile(): Promise<object> {
  const { createFileSchema } = await import('./file-schema');
  return createFileSchema();
}
