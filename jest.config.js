// Two kinds of tests run here: `unit` mirrors src; `conformance` replays data measured on the real systems.
// End-to-end tests (test/e2e) start a real containerd and have a runner of their own: see scripts/test.mjs.
const common = {
  rootDir: __dirname,
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testEnvironment: 'node',
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }],
    '@kubernetes/client-node/dist/index\\.js$': '<rootDir>/test/support/bundle-package.js',
    // An ES module.
    'get-east-asian-width/.*\\.js$': ['@swc/jest', { jsc: { target: 'es2022' }, module: { type: 'commonjs' } }],
  },
  transformIgnorePatterns: ['/node_modules/(?!(@kubernetes/client-node|get-east-asian-width)/)'],
  setupFilesAfterEnv: ['<rootDir>/test/support/setup.ts'],
};

/** A temporary folder for each test file. The file fails when it leaves something there or on the host. */
const clean = { ...common, testEnvironment: '<rootDir>/test/support/environment.ts' };

module.exports = {
  // By default there is one worker for two CPUs.
  maxWorkers: '100%',
  projects: [
    {
      ...clean,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['e2e', 'cluster', 'conformance', 'browser'].map((name) => `<rootDir>/test/${name}/`),
    },
    { ...clean, displayName: 'conformance', testMatch: ['<rootDir>/test/conformance/**/*.test.ts'] },
    { ...common, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.test.ts'] },
    { ...common, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.test.ts'] },
    {
      ...common,
      displayName: 'cluster',
      testMatch: ['<rootDir>/test/cluster/**/*.test.ts'],
      globalSetup: '<rootDir>/test/cluster/rig/global-setup.ts',
      globalTeardown: '<rootDir>/test/cluster/rig/global-teardown.ts',
    },
  ],
};
