import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Calls whose function is a test or a group of tests, made from a table or not. */
const testsAndGroups = `CallExpression:matches(${[
  '[callee.name=/^(test|it|describe|onEachRuntime|onRuntimes|onEachNode|onOneNode|defineOnce|defineUnless|defineWithPrerequisite)$/]',
  '[callee.callee.name=/^require(Runtime|ApiServer)$/]',
  '[callee.callee.object.name=/^(test|it|describe)$/]',
  '[callee.tag.object.name=/^(test|it|describe)$/]',
].join()})`;

/** Names that say nothing of what they hold, and words that are used up. */
const emptyName = 'name=/^(of|one|so)$|^(tell|told|hear)([A-Z]|$)/';

const forbiddenSyntax = [
  {
    selector: `:matches(${[
      ...['VariableDeclarator > .id', 'AssignmentPattern > .left', 'RestElement > .argument', 'ArrayPattern > *'],
      ...['ObjectPattern > Property > .value', ':function > .params', 'TSFunctionType > .params'],
      ...['TSParameterProperty > .parameter', 'TSPropertySignature > .key', 'PropertyDefinition > .key'],
    ].join()})[type='Identifier'][${emptyName}]`,
    message: 'Name it by what it holds.',
  },
  {
    selector: ':matches(FunctionDeclaration > .id, MethodDefinition > .key)[name=/^(tell|told|hear)([A-Z]|$)/]',
    message: 'Use the standard word: send, write, emit, follow, subscribe, show.',
  },
  {
    selector: 'ObjectExpression > SpreadElement > ObjectExpression',
    message: 'Write plain properties.',
  },
];

/** JavaScript has no keyword for it. */
const privateNames = { selector: 'PrivateIdentifier', message: 'Write `private`, as all classes do.' };

export default defineConfig(
  { ignores: ['dist/', 'gen/', 'test/gen/', 'node_modules/', 'test-logs/', 'test/fixtures/'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `void` hides a rejection, which ends the process: a caller that does not wait handles the rejection itself.
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: false }],
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', ...forbiddenSyntax],
      'no-console': 'error',
      'prefer-const': 'error',
    },
  },
  { files: ['**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...forbiddenSyntax, privateNames] } },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: { parserOptions: { projectService: false, project: 'tsconfig.scripts.json' } },
  },
  // These run in a browser, and have its types.
  ...['src/admin/page/client', 'test/browser'].map((folder) => ({
    files: [`${folder}/**/*.ts`],
    languageOptions: { parserOptions: { projectService: false, project: `${folder}/tsconfig.json` } },
  })),
  { files: ['**/*.js', '**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  {
    files: ['test/**', 'bench/**', 'scripts/**', '*.js', '*.mjs'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['test/**'],
    ignores: ['test/support/not-run.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        ...['describe', 'test', 'it'].flatMap((object) =>
          ['skip', 'only', 'todo', 'failing'].map((property) => ({
            object,
            property,
            message: 'A test that is not run has a reason: see test/support/not-run.ts.',
          })),
        ),
      ],
      'no-restricted-syntax': [
        'error',
        ...forbiddenSyntax,
        privateNames,
        ...['ReturnStatement', 'BlockStatement[body.length=1] > ReturnStatement'].map((bareReturn) => ({
          selector: `${testsAndGroups} > :function > BlockStatement > IfStatement > ${bareReturn}[argument=null]`,
          message: 'What returns early passes without its assertions: see test/support/not-run.ts.',
        })),
      ],
    },
  },
  // Standard output belongs to the commands: only they print.
  { files: ['src/cli/**', 'src/main.ts'], rules: { 'no-console': 'off' } },
);
