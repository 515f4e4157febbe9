// Pages for the browser tests, made with the program: one for each kind of input.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SCENES = ['bd1', 'bd5', 'billiards', 'bp5', 'bp5-e', 'cp3', 'cp3-e', 'gyro', 'gyro-e', 'rope', 'rope50', 'rope100', 'rope200'];

// a scene whose texts are markup (ids cannot be)
const hostile = {
  carom: 1,
  name: '</script><script>window.hacked=1</script>',
  description: '<img src=x onerror="window.hacked=2">',
  dimension: 2,
  dt: 0.01,
  steps: 50,
  gravity: [0, -9.81],
  bodies: [{ id: 'a', type: 'point', mass: 1, radius: 0.1 }],
  planes: [{ id: 'ground', normal: [0, 1], offset: 0 }],
  contacts: { friction: 0, restitution: 0.5 },
  initial: { sampler: 'box', low: [0, 0.2], high: [1, 1], speed: 0.5 },
};

export function makePages(program, folder) {
  const run = (...args) => execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const view = (output, ...inputs) => run('view', ...inputs, '-o', output);
  mkdirSync(folder, { recursive: true });
  for (const scene of SCENES) {
    run('simulate', scene, '--sample', '2', '--seed', '1', '--steps', '100', '--quiet', '-o', `${scene}.h5`);
    view(`${scene}.html`, `${scene}.h5`);
  }
  run('simulate', 'bd5', '--sample', '2', '--seed', '1', '--steps', '80', '--contact', 'cmr', '--quiet', '-o', 'other.h5');
  view('two.html', 'bd5.h5', 'other.h5');
  // one motion with half as many time steps, and one file of the same name in another folder
  run('simulate', 'bd1', '--sample', '2', '--seed', '1', '--steps', '50', '--dt', '0.02', '--quiet', '-o', 'coarse.h5');
  view('steps.html', 'bd1.h5', 'coarse.h5');
  mkdirSync(join(folder, 'again'), { recursive: true });
  run('simulate', 'bd1', '--sample', '2', '--seed', '2', '--steps', '100', '--quiet', '-o', 'again/bd1.h5');
  view('same.html', 'bd1.h5', 'again/bd1.h5');
  run('dataset', 'cp3', '--train', '12', '--val', '4', '--test', '4', '--quiet', '-o', 'data.h5');
  view('data.html', 'data.h5');
  for (const seed of ['0', '1']) {
    run('train', 'cp3', '--data', 'data.h5', '--epochs', '3', '--hidden', '8', '--layers', '1', '--seed', seed, '--quiet', '-o', `runs/seed${seed}`);
    run('evaluate', `runs/seed${seed}`, '--quiet');
  }
  view('run.html', 'runs/seed0');
  view('runs.html', 'runs');
  view('evaluation.html', 'runs/seed0/evaluation.h5');
  view('model.html', 'runs/seed0/best.h5');
  run('gradient', 'bd5', '--init', 'bd5.h5', '--target', 'other.h5', '--steps', '80', '--quiet', '-o', 'gradient.h5');
  view('gradient.html', 'gradient.h5');
  run('plan', 'two-balls', '--iterations', '3', '--quiet', '-o', 'plan.h5');
  view('plan.html', 'plan.h5');
  run('plan', 'hit', '--quiet', '-o', 'hit.h5');
  view('hit.html', 'hit.h5');
  const small = ['--train', '10', '--val', '4', '--test', '4', '--hidden', '4', '--layers', '1', '--epochs', '2', '--threads', '1', '--quiet'];
  run('reproduce', 'planning', ...small, '-o', 'results');
  run('reproduce', 'table2', '--tasks', 'cp3-e', '--models', 'cm-cd-clnn', '--steps', '60', ...small, '-o', 'results');
  writeFileSync(join(folder, 'hostile.json'), JSON.stringify(hostile));
  const name = '<img src=x onerror=window.hacked=5>.h5';
  run('simulate', 'hostile.json', '--quiet', '-o', name);
  view('hostile.html', name);
}
