/* Checkpoints (HDF5): a model, and with it the training that it is in.
 *
 *   /mass, /moment, /friction, ...      float64, one dataset for each array of the model's
 *   /weight0, /bias0, ...               parameters, as they are learned (before their transforms)
 *   root attributes
 *     checkpoint        1, the version of this format
 *     carom_version, scene, dt          as in every file of carom
 *     model             "cm-cd-clnn", ...
 *     hidden_layers, hidden_size, shared_properties, learn_regularizer, single_precision,
 *     elastic_term, initial_friction
 *     model_seed        text
 *
 * and, where a training is saved,
 *   /first_moment, /second_moment       float64 [parameters] of AdamW
 *   root attributes
 *     epochs, batch, learning_rate, beta1, beta2, epsilon, weight_decay, schedule ("constant",
 *     "cosine"), final_rate, property_rate, search_every, train_seed (text), data_hash (text,
 *     hexadecimal)
 *     optimizer_steps, epochs_done, best_loss, best_epoch, and of the epoch under way batches_done,
 *     loss_sum, gradient_norm, moves and the counters of its report
 *
 * The same training gives the same bytes: there is no time in it. */
#ifndef CAROM_IO_CHECKPOINT_FILE_H
#define CAROM_IO_CHECKPOINT_FILE_H

#include "carom.h"

/* Names in files: of a model's contact model and dynamics ("cm-cd-clnn"), of a schedule. */
const char *model_options_name(const carom_model_options *options);
const char *schedule_name(carom_schedule schedule);

/* Saves the training with its model (carom_model_load reads the model of such a file too). */
carom_status trainer_save(const carom_trainer *trainer, const char *path, carom_error *error);

/* Puts model, optimiser and state of a saved training into a trainer made with the same scene,
 * model options, training options and data; what differs is named in the message. Of the training
 * options, `epochs` may differ if the schedule is constant. Nothing is changed on failure. */
carom_status trainer_restore(carom_trainer *trainer, const char *path, carom_error *error);

#endif
