// Makes dist/page.html, the page that `carom view` fills: script and styles in one file, which only its own
// script may run in (its hash is in the page's policy), and dist/LICENSES.txt, what it is made of.
//   node build.mjs [--check]     --check: fails if dist is not what the sources give
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const read = (name) => readFileSync(join(here, name), 'utf8');

// a bundle as text, and which packages are in it
async function bundle(entry) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
    metafile: true,
    write: false,
    outdir: 'unused',
    loader: { '.css': 'css' },
  });
  const packages = Object.keys(result.metafile.inputs)
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter((name) => name !== undefined);
  return { text: result.outputFiles[0].text.trim(), packages };
}

function licences(packages) {
  const parts = [...new Set(packages)].sort().map((name) => {
    const info = JSON.parse(read(`node_modules/${name}/package.json`));
    const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].find((f) => existsSync(join(here, 'node_modules', name, f)));
    return `${name} ${info.version} (${info.license})\n\n${read(`node_modules/${name}/${file}`).trim()}\n`;
  });
  return `The page that carom view writes contains these libraries.\n\n${parts.join('\n----\n\n')}`;
}

const script = await bundle('src/main.ts');
const style = await bundle('src/all.css');
// the script stands inside a <script> of the page
const safe = script.text.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
const hash = createHash('sha256').update(safe, 'utf8').digest('base64');
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${hash}'`,
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
const values = { policy, style: style.text, script: safe, title: '{{title}}' };
const html = read('src/page.html').replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
const outputs = {
  'page.html': html,
  'LICENSES.txt': licences([...script.packages, ...style.packages]),
};

let stale = false;
mkdirSync(join(here, 'dist'), { recursive: true });
for (const [name, text] of Object.entries(outputs)) {
  const path = join(here, 'dist', name);
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text);
    console.log(`dist/${name}  ${(text.length / 1024).toFixed(0)} kB`);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`dist/${name} is not what the sources give: run \`npm run build\` in viewer/ and commit it`);
    stale = true;
  }
}
process.exit(stale ? 1 : 0);
