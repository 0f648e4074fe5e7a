"""The list of models, in the order in which they are brought."""

from . import (bert_base, ddddocr_det, efficientnet_lite0, minilm_l6, mobilenet_v2, ppocr_det, ppocr_rec, resnet50,
               vit_b16)

MODELS = {module.MODEL.name: module.MODEL for module in (
    ppocr_rec, ppocr_det, ddddocr_det, efficientnet_lite0, minilm_l6, resnet50, mobilenet_v2, vit_b16, bert_base)}
