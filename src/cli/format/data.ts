/** The formats for programs. */
export type DataFormat = 'json' | 'yaml';

/** A value as one document, the same in both formats: CPU sets are lists as the kernel writes them. */
export async function formatData(value: object, format: DataFormat): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  return (await import('yaml')).stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 });
}
